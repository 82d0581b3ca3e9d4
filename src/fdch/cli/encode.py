"""`fdch encode`: pairs in, their codes in a file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import (
    DataName,
    PathName,
    device_option,
    example,
    file_option,
    json_option,
    refuse_broken,
)
from fdch.cli.shared.output import count, plain, require_place, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.errors import DataError, UnknownWords

if TYPE_CHECKING:
    from fdch.data.pairs import Broken, PairedSet
    from fdch.methods._base import HashMethod
    from fdch.runs.encoding import EncodedPairs
    from fdch.runs.run import Run


@click.command(
    "encode", epilog=example("fdch encode runs/first scenes:60 --out codes.npz")
)
@click.argument("run", type=PathName())
@click.argument("data", type=DataName())
@file_option("--out", help="File of codes to write (.npz).", required=True)
@refuse_broken
@device_option
@json_option
def command(
    run: Path, data: str, out: Path, broken: "Broken", device: str, as_json: bool
) -> None:
    """Write the codes of pairs to a file.

    The file holds ids, the packed codes "image", "text" and, where the method has
    them, "unified", one row per id. has_image and has_text mark the rows that have
    that side; the codes of the others are 0. A row may lack its picture or its
    text, but a text must have a word that the run knows.
    """
    target = require_place(out, ".npz", inputs=[data])
    from fdch.cli.shared.data_notes import tell_data
    from fdch.files import write_whole
    from fdch.runs.encoding import encode_pairs
    from fdch.runs.preparation import read_pairs
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    with ProgressPrinter() as progress:
        context = Context(progress, device)
        opened = open_run(run, context)
        pairs = read_pairs(data, broken, context)
        pairs = usable_rows(opened.method, pairs, broken)
        codes = encode_pairs(opened.method, pairs, context)
    tell_data(pairs)
    write_whole(target, lambda path: _save(path, opened, pairs, codes))
    document = describe(opened, pairs, out)
    if as_json:
        say_json(document)
        return
    counted = f"{count(len(pairs), 'pair')} of {data}"
    say(f"{out}: {document['bits']}-bit codes of {counted}")
    say(f"model {opened.fingerprint}")


def usable_rows(
    method: "HashMethod", pairs: "PairedSet", broken: "Broken"
) -> "PairedSet":
    """Refuse, or leave out, rows whose text has no known word."""
    from fdch.data.pairs import Skipped
    from fdch.runs.encoding import lacks_known_words

    unknown = lacks_known_words(method, pairs)
    if unknown.any() and broken == "refuse":
        row = int(unknown.argmax())
        others = int(unknown.sum()) - 1
        more = f" So have {count(others, 'other row')}." if others else ""
        raise UnknownWords(_unknown(method, pairs, row) + more)
    skipped = tuple(
        Skipped(pairs.ids[row], "its text has no known word")
        for row in unknown.nonzero()[0]
    )
    if unknown.all():
        raise DataError(
            f"none of the {count(len(pairs), 'row')} of '{pairs.name}' can be encoded: "
            "no text has a word that the run knows. Give data like that it was "
            "trained on."
        )
    return replace(pairs[~unknown], skipped=pairs.skipped + skipped)


def _unknown(method: "HashMethod", pairs: "PairedSet", row: int) -> str:
    from fdch.data.texts import Sentences

    name, vocabulary = pairs.ids[row], method.inputs.vocabulary
    advice = "Change the text, or leave such rows out with --broken skip."
    if vocabulary is None or not isinstance(pairs.texts, Sentences):
        return f"the text vector of '{name}' is all zero. {advice}"
    text = pairs.texts.values[row]
    return (
        f"the text of '{name}' has no word that the run knows: '{plain(text, 100)}'. "
        f"{vocabulary.hint(text)} {advice}"
    )


def describe(run: "Run", pairs: "PairedSet", out: Path) -> dict[str, Any]:
    """Give the document of `--json`."""
    return {
        "codes": str(out),
        "run": str(run.folder),
        "method": run.name,
        "bits": run.method.bits,
        "model": run.fingerprint,
        "data": pairs.fingerprint,
        "pairs": len(pairs),
        "with_image": int(pairs.images.present.sum()),
        "with_text": int(pairs.texts.present.sum()),
        "unified": run.method.about.unified,
        "skipped": [{"row": row.name, "reason": row.reason} for row in pairs.skipped],
    }


def _save(path: Path, run: "Run", pairs: "PairedSet", codes: "EncodedPairs") -> None:
    import numpy as np

    width = codes.image.packed.shape[1]
    sides = {}
    for name, part, has in (
        ("image", codes.image, codes.has_image),
        ("text", codes.text, codes.has_text),
    ):
        sides[name] = np.zeros((len(pairs), width), dtype=np.uint8)
        sides[name][has] = part.packed
    if codes.unified is not None:
        sides["unified"] = codes.unified.packed
    with path.open("wb") as file:
        np.savez(
            file,
            ids=pairs.ids.astype(np.str_),
            has_image=codes.has_image,
            has_text=codes.has_text,
            bits=np.int64(run.method.bits),
            method=np.str_(run.name),
            fingerprint=np.str_(run.fingerprint),
            allow_pickle=False,
            **sides,
        )
