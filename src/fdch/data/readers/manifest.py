"""Read a manifest: a table of ids, pictures, texts and labels.

Folders of pictures and tar shards are read as tables of the same columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.conversion import mark_labels
from fdch.data.pairs import SKIP_BROKEN, Broken, PairedSet, Skipped
from fdch.data.pictures.decoding import ENDINGS
from fdch.data.pictures.images import PictureFiles, PictureLimits, Pictures
from fdch.data.pictures.placed_pictures import Place, PlacedPictures
from fdch.data.readers.columns import Assignment, Layout, assign_columns
from fdch.data.readers.manifest_cells import (
    Pair,
    PictureFolders,
    Unusable,
    name_of,
    pair,
    split_labels,
)
from fdch.data.readers.tables.arrow import open_arrow
from fdch.data.readers.tables.excel import open_excel
from fdch.data.readers.tables.parquet import open_parquet
from fdch.data.readers.tables.picture_folder import open_folder
from fdch.data.readers.tables.shards import open_shard
from fdch.data.readers.tables.table import Row, Table
from fdch.data.readers.tables.text_tables import open_csv, open_json_lines
from fdch.data.rows import MAX_ROWS, objects, reading, shorten
from fdch.data.texts import Sentences
from fdch.errors import BrokenRow, DataError

_COPY = "Write or copy it again."
FORMATS: dict[str, tuple[Callable[[Path, Layout], Table], str, str]] = {
    ".csv": (open_csv, "CSV file", "Save it as CSV in UTF-8."),
    ".tsv": (open_csv, "table of text", "Save it as UTF-8."),
    ".xlsx": (
        open_excel,
        "Excel workbook",
        "Save it again as .xlsx without a password, or as CSV in UTF-8.",
    ),
    ".jsonl": (open_json_lines, "file of JSON lines", _COPY),
    ".parquet": (open_parquet, "Parquet file", _COPY),
    ".arrow": (open_arrow, "Arrow file", "Save it again with save_to_disk."),
    ".tar": (open_shard, "uncompressed tar file", _COPY),
}
_FOLDER = (open_folder, "folder of pictures", "Check its permissions.")
_REASON_LETTERS = 1000  # a reason may name a path
_PEEKED = 20  # rows looked at to guess what a column holds
_NO_ID = "it has no 'id', which rows before have."
_NEW_ID = "it has an 'id', which rows before have not."
_ADVICE = f"Correct the row, or skip broken rows ({SKIP_BROKEN})."


def read(
    path: Path, *more: Path, broken: Broken, limits: PictureLimits, layout: Layout
) -> PairedSet:
    """Read CSV, Excel, JSON lines, Parquet or tar files, by their endings, or a folder.

    Several files are read as one. Pictures are looked up, not decoded. Relative paths
    begin at the manifest. A broken row is refused, or skipped and listed.
    """
    skipped: list[Skipped] = []
    kept: list[Pair] = []
    places: list[str] = []
    notes: dict[str, None] = {}  # each once, in their order
    numbered = False
    for each in (path, *more):
        table, columns = _open(each, layout)
        before = len(kept) + len(skipped)
        for place, found in _pairs(each, table, columns, limits, layout, before):
            if isinstance(found, Pair):
                kept.append(found)
                places.append(f"{place} of '{each.name}'" if more else place)
            elif broken == "refuse":
                raise BrokenRow(f"{found.reason} {_ADVICE}")
            else:
                skipped.append(found)
        numbered |= "id" not in columns.names
        notes |= dict.fromkeys((*table.notes, *columns.notes))
    if not kept:
        raise _nothing_left(path, skipped)
    cells, note = split_labels([item.labels for item in kept])
    labels, names = mark_labels(cells)
    return PairedSet(
        ids=objects([item.name for item in kept]),
        images=_pictures([item.image for item in kept], limits),
        texts=Sentences([item.text for item in kept]),
        labels=labels,
        label_names=names,
        columns=_columns(kept),
        name=path.stem or path.resolve().stem,
        skipped=tuple(skipped),
        notes=(*notes, *([note] if note else [])),
        numbered=numbered,
        named_by_path=path.is_dir(),
        places=objects(places),
    )


def _open(path: Path, layout: Layout) -> tuple[Table, Assignment]:
    """Open a table and find out what its columns are."""
    opener, *kind = _FOLDER if path.is_dir() else FORMATS[path.suffix.lower()]
    with reading(path, *kind):
        table = opener(path, layout)
        rows = iter(table.rows)
        first = list(islice(rows, _PEEKED))
        cells = [row.cells for row in first]
        try:
            columns = assign_columns(table.columns, layout, cells, table.is_open)
        except DataError as error:
            raise DataError(f"{error}{table.advise()}") from None

    def read_rows() -> Iterator[Row]:
        yield from first
        with reading(path, *kind):
            yield from rows

    return replace(table, rows=read_rows()), columns


def _pictures(found: Sequence[Path | Place | None], limits: PictureLimits) -> Pictures:
    paths = [each for each in found if each is None or isinstance(each, Path)]
    if len(paths) == len(found):
        return PictureFiles(paths, limits)
    if any(paths):
        raise DataError(
            "some pictures are in the files themselves and others are named by their "
            "paths. Read the files one by one, and write one that has both again."
        )
    placed = [None if isinstance(each, Path) else each for each in found]
    return PlacedPictures(placed, limits)


def _pairs(
    path: Path,
    table: Table,
    columns: Assignment,
    limits: PictureLimits,
    layout: Layout,
    before: int,
) -> Iterator[tuple[str, Pair | Skipped]]:
    folders = PictureFolders(path.absolute().parent, layout.pictures)
    for number, row in enumerate(table.rows, start=before + 1):
        if number > MAX_ROWS:
            raise DataError(
                f"'{path}' has more than {MAX_ROWS:,} rows; split it into several."
            )
        cells = columns.rename(row.cells)
        try:
            if row.trouble:
                raise Unusable(row.trouble)
            # the number of a row may be another's id
            has_id = "id" in cells
            if has_id != ("id" in columns.names):
                raise Unusable(_NEW_ID if has_id else _NO_ID)
            yield row.where, pair(cells, number, folders, limits)
        except Unusable as reason:
            name = _name(row.where, cells)
            named = "" if name == row.where else f" ('{shorten(name)}')"
            shown = shorten(str(reason), _REASON_LETTERS)
            yield row.where, Skipped(name, f"'{path}', {row.where}{named}: {shown}")


def _name(where: str, cells: Mapping[str, Any]) -> str:
    try:
        return name_of(cells, 0) if "id" in cells else where
    except Unusable:
        return where


def _nothing_left(path: Path, skipped: list[Skipped]) -> DataError:
    if path.is_dir() and not skipped:
        return DataError(
            f"'{path}' is a folder without pictures ({', '.join(ENDINGS)}). Name a "
            "manifest or shards by their own names, such as shards-{000..099}.tar."
        )
    reason = ": it has a header but no rows. Write a line for each pair."
    if skipped:
        first = skipped[0].reason
        reason = f"; {len(skipped):,} were skipped, the first because: {first}"
    return DataError(f"'{path}' has no rows to use{reason}")


def _columns(kept: list[Pair]) -> dict[str, NDArray[np.object_]]:
    names = dict.fromkeys(column for item in kept for column in item.others)
    return {name: objects([item.others.get(name) for item in kept]) for name in names}
