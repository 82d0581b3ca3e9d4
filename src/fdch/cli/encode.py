"""`fdch encode`: pairs in, their codes in a file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import count, note_data, plain, report, require_place
from fdch.cli.shared.progress_lines import show_progress
from fdch.errors import DataError, UnknownWords

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.methods._base import HashMethod
    from fdch.runs.encoding import EncodedPairs
    from fdch.runs.run import Run


@options.command("encode", "fdch encode runs/first scenes:60 --out codes.npz")
@options.run
@options.data
@option("--out", "File of codes to write (.npz).", PATH, required=True)
@options.layout
@options.remember_broken
@options.engine
@options.device
@options.json
def command(
    run: Path,
    data: str,
    out: Path,
    layout: "options.Layout",
    broken: "options.Broken | None",
    engine: "options.EngineName",
    device: str,
    as_json: bool,
) -> None:
    """Write the codes of pairs to a file.

    The file holds ids, the packed codes "image", "text" and, where the method has
    them, "unified", one row per id. has_image and has_text mark the rows that have
    that side; the codes of the others are 0. "vectors" is what an index keeps of
    each row to order results, where the method gives such vectors. "numbered" says
    whether the ids are only row numbers. A row may lack its picture or its text,
    but a text must have a word that the run knows.
    """
    target = require_place(out, ".npz", inputs=[data])
    from fdch.files import write_whole
    from fdch.runs.encoding import encode_in_parts
    from fdch.runs.engines import open_engine
    from fdch.runs.preparation import complete_reading, read_pairs
    from fdch.runs.run import open_run

    with show_progress(device) as context:
        opened = open_run(run, context)
        method = opened.method
        layout, broken = complete_reading(opened.facts, data, layout, broken)
        read = read_pairs(data, broken, context, engine, layout)
        pairs = _keep_known(method, read, broken)
        with open_engine(engine, opened, broken, context) as encoder:
            pairs, codes = encode_in_parts(encoder, pairs, context.progress)
    note_data(pairs)
    write_whole(target, lambda path: _save(path, opened, pairs, codes))
    document = {
        "codes": str(out),
        "run": str(opened.folder),
        "method": opened.name,
        "bits": method.bits,
        "model": opened.fingerprint,
        "data": pairs.fingerprint,
        "pairs": len(pairs),
        "with_image": int(pairs.images.present.sum()),
        "with_text": int(pairs.texts.present.sum()),
        "unified": method.about.unified,
        "skipped": [{"row": row.name, "reason": row.reason} for row in pairs.skipped],
    }
    report(
        document,
        as_json,
        f"{out}: {method.bits}-bit codes of {count(len(pairs), 'pair')} of {data}",
        f"model {opened.fingerprint}",
    )


def _keep_known(
    method: "HashMethod", pairs: "PairedSet", broken: "options.Broken"
) -> "PairedSet":
    """Refuse, or leave out, rows whose text has no known word."""
    from fdch.data.pairs import Skipped
    from fdch.runs.encoding import lacks_known_words

    unknown = lacks_known_words(method, pairs)
    if unknown.any() and broken == "refuse":
        others = int(unknown.sum()) - 1
        have = "has" if others == 1 else "have"
        also = f" {count(others, 'other row')} {have} the same problem."
        more = also if others else ""
        raise UnknownWords(_explain(method, pairs, int(unknown.argmax())) + more)
    if unknown.all():
        raise DataError(
            f"none of the {count(len(pairs), 'row')} of '{pairs.name}' can be encoded: "
            "no text has a word that the run knows. Give data like that it was "
            "trained on."
        )
    skipped = tuple(
        Skipped(name, "its text has no known word") for name in pairs.ids[unknown]
    )
    return replace(pairs[~unknown], skipped=pairs.skipped + skipped)


def _explain(method: "HashMethod", pairs: "PairedSet", row: int) -> str:
    from fdch.data.texts import Sentences
    from fdch.data.word_forms import hint_words

    name, vocabulary = pairs.ids[row], method.inputs.vocabulary
    advice = "Change the text, or leave such rows out with --broken skip."
    if vocabulary is None or not isinstance(pairs.texts, Sentences):
        return f"the text vector of '{name}' is all zero. {advice}"
    text = pairs.texts.values[row]
    return (
        f"the text of '{name}' has no word that the run knows: '{plain(text, 100)}'. "
        f"{hint_words(vocabulary, text)} {advice}"
    )


def _save(path: Path, run: "Run", pairs: "PairedSet", codes: "EncodedPairs") -> None:
    import numpy as np

    from fdch.retrieval.ordering import find_ordering

    shape = len(pairs), codes.image.packed.shape[1]
    sides = {name: np.zeros(shape, dtype=np.uint8) for name in ("image", "text")}
    sides["image"][codes.has_image] = codes.image.packed
    sides["text"][codes.has_text] = codes.text.packed
    if codes.unified is not None:
        sides["unified"] = codes.unified.packed
    ordering, vectors = find_ordering(run.method), codes.item_vectors
    if ordering is not None and vectors is not None:
        sides["vectors"] = vectors.view(np.uint8)
    with path.open("wb") as file:
        np.savez(
            file,
            ids=pairs.ids.astype(np.str_),
            has_image=codes.has_image,
            has_text=codes.has_text,
            numbered=np.bool_(pairs.numbered),
            bits=np.int64(run.method.bits),
            method=np.str_(run.name),
            fingerprint=np.str_(run.fingerprint),
            allow_pickle=False,
            **sides,
        )
