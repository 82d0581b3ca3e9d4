"""Items of an index encoded again: for another model, for a repair, for a file."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import DataError, FdchError, IndexFolderError
from fdch.files import write_whole
from fdch.index.opening import require_folder
from fdch.index.storage.files.layout import PICTURES, write_durably
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.methods._base import HashMethod
from fdch.progress import Progress, Update, silent
from fdch.retrieval.adding import (
    NOTHING_TO_ENCODE,
    Encoded,
    encode_gallery,
    gallery_kinds,
)
from fdch.retrieval.ordering import vector_bytes
from fdch.runs.run import Run, copy_model, open_run
from fdch.training.context import PLAIN, Context

SOURCE = "rebuilt_from"
ITEMS_AT_A_TIME = 512


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did."""

    items: int  # there now
    encoded: int  # this time
    skipped: dict[str, str]  # why, by id
    halved: int  # pairs encoded by one half, because the index lacks the other


def rebuild_index(
    name: str | Path,
    run: Run,
    out: Path,
    context: Context = PLAIN,
    progress: Progress = silent,
) -> Rebuilt:
    """Encode every item of an index folder with another run, into a new index.

    Interrupted, the same call goes on; done, it takes over what changed since.
    Uploaded pictures are copied.
    """
    if out.exists() and not out.is_dir():
        raise IndexFolderError(
            f"'{out}' is a file; name a folder for the new index, or remove it first."
        )
    skipped: dict[str, str] = {}
    encoded = halved = done = 0
    with CodeFolder.open(require_folder(name)) as old, _target(old, run, out) as new:
        new.set_types(old.types())
        for batch in old.batches(ITEMS_AT_A_TIME):
            items = [_with_own_picture(i, old.path, new.path) for i in batch.items]
            known = new.items([item.id for item in items])
            left = [
                item
                for item, there in zip(items, known, strict=True)
                if there is None or replace(item, kind=there.kind) != there
            ]
            for ready, (codes, vectors) in _encode(run.method, left, context, skipped):
                new.add(ready, codes, vectors)
                encoded += len(ready)
            halved += sum(_lacks_half(i) and i.id not in skipped for i in items)
            done += len(items)
            progress(Update("encoding", done, len(old), "item"))
        new.remove(list(_removed_since(old, new)))
        rebuilt = Rebuilt(len(new), encoded, skipped, halved)
    if skipped and not rebuilt.items:
        shutil.rmtree(out)
        first, why = next(iter(skipped.items()))
        raise DataError(
            f"none of the {len(skipped):,} items of '{name}' can be encoded again, "
            f"'{first}' because: {why.rstrip('.')}. Give a run for such items, or "
            "create an index from their data."
        )
    return rebuilt


def model_encoder(folder: Path, items: Sequence[Item]) -> Encoded:
    """Encode items of an index again, with the model that it keeps."""
    method = open_run(folder / "model").method
    pairs = _pairs_of([_with_own_picture(item, folder, folder) for item in items])
    kinds = gallery_kinds(method, pairs)
    for item, kind in zip(items, kinds, strict=True):
        if kind != item.kind:
            raise DataError(f"'{item.id}' cannot be encoded as a {item.kind}.")
    return encode_gallery(method, pairs, kinds)


def export_items(name: str | Path, out: Path, progress: Progress = silent) -> int:
    """Write every item of an index folder, with its code, as a line of JSON.

    Uploaded pictures are copied into a folder beside the file.
    """
    if out.exists():
        raise DataError(f"'{out}' already exists. Choose another path.")
    pictures, done = out.with_suffix(".pictures"), 0

    def write(partial: Path) -> None:
        nonlocal done
        with partial.open("w", encoding="utf-8") as file:
            for items, codes, vectors in store.batches(ITEMS_AT_A_TIME):
                for row, item in enumerate(items):
                    item = _with_exported_picture(item, store.path, pictures)
                    line = asdict(item) | {"code": codes.packed[row].tobytes().hex()}
                    if vectors is not None:
                        line["vector"] = vectors[row].tobytes().hex()
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                done += len(items)
                progress(Update("writing", done, len(store), "item"))

    with CodeFolder.open(require_folder(name)) as store:
        write_whole(out, write)
    return done


def _with_exported_picture(item: Item, folder: Path, pictures: Path) -> Item:
    """Copy an item's uploaded picture to where the export has its pictures."""
    uploaded = uploaded_picture(item, folder)
    if uploaded is None:
        return item
    pictures.mkdir(exist_ok=True)
    shutil.copyfile(uploaded, pictures / uploaded.name)
    return replace(item, image=f"{pictures.name}/{uploaded.name}")


def _target(old: CodeFolder, run: Run, out: Path) -> CodeFolder:
    """Make the new index, or open it again to go on."""
    if not out.exists() or not any(out.iterdir()):
        facts = {"method": run.name, SOURCE: old.identity}
        return CodeFolder.create(
            out,
            run.method.bits,
            lambda to: copy_model(run, to).fingerprint,
            facts,
            vector_bytes(run.method),
        )
    new = CodeFolder.open(out, writable=True)
    if new.facts.get(SOURCE) != old.identity or new.model != run.fingerprint:
        new.close()
        raise IndexFolderError(
            f"'{out}' already exists, and is not this index with this run. Choose "
            "another path, or remove it first."
        )
    return new


def _lacks_half(item: Item) -> bool:
    """Return whether an item was encoded with a picture or text not kept in the index.

    Pictures inside shards and Parquet files, and ready features, have no path.
    """
    lacks_picture = item.image is None and item.kind in ("pair", "image")
    return lacks_picture or (item.text is None and item.kind in ("pair", "text"))


def _removed_since(old: CodeFolder, new: CodeFolder) -> Iterator[str]:
    """Return the ids of items that the old index has no more."""
    for batch in new.batches(ITEMS_AT_A_TIME):
        names = [item.id for item in batch.items]
        there = old.items(names)
        yield from (n for n, item in zip(names, there, strict=True) if item is None)


def _encode(
    method: HashMethod, items: Sequence[Item], context: Context, skipped: dict[str, str]
) -> Iterator[tuple[list[Item], Encoded]]:
    """Encode a batch at once; one by one where one of them cannot be read."""
    try:
        pairs = _pairs_of(items)
        kinds = gallery_kinds(method, pairs)
        rows = np.flatnonzero(kinds != "code").tolist()
        encoded = encode_gallery(method, pairs[rows], kinds[rows], context)
    except FdchError as problem:
        if len(items) == 1:
            skipped[items[0].id] = str(problem)
            return
        for item in items:
            yield from _encode(method, [item], context, skipped)
        return
    for row in np.flatnonzero(kinds == "code").tolist():
        skipped[items[row].id] = NOTHING_TO_ENCODE
    if rows:
        yield [replace(items[row], kind=kinds[row]) for row in rows], encoded


def _pairs_of(items: Sequence[Item]) -> PairedSet:
    paths = [Path(item.image) if item.image else None for item in items]
    return PairedSet(
        ids=np.array([item.id for item in items], dtype=object),
        images=PictureFiles(paths),
        texts=Sentences([item.text for item in items]),
        labels=np.zeros((len(items), 0), dtype=np.uint8),
        label_names=(),
    )


def uploaded_picture(item: Item, folder: Path) -> Path | None:
    """Return the file of a picture that was uploaded to an index."""
    if item.image is None:
        return None
    given = Path(item.image)
    path = folder / PICTURES / given.name
    is_own = given.parent.name == PICTURES or not given.exists()
    return path if is_own and path.is_file() else None


def _with_own_picture(item: Item, old: Path, new: Path) -> Item:
    """Let an item have its uploaded picture in the index that it goes to."""
    uploaded = uploaded_picture(item, old)
    if uploaded is None:
        return item
    target = new / PICTURES / uploaded.name
    if old != new and not target.exists():
        target.parent.mkdir(exist_ok=True)
        write_durably(target, uploaded.read_bytes())
    return replace(item, image=str(target))
