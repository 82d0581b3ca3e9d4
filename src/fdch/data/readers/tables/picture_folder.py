"""A folder of pictures: its subfolders are labels, a .txt beside a picture its text."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fdch.data.pictures.decoding import ENDINGS
from fdch.data.readers.columns import KNOWN, Layout
from fdch.data.readers.tables.table import CELL_BYTES, Row, Table

TABLE_NOTE = "the folder contains "
_TABLES = {".csv", ".tsv", ".xlsx", ".jsonl", ".parquet"}
_ONE = {
    "files that are not pictures": "file that is not a picture",
    "folders that cannot be read": "folder that cannot be read",
    "linked folders": "linked folder",
}


def open_folder(folder: Path, layout: Layout) -> Table:
    """Read the pictures in a folder and below it, in the order of their names.

    An id is the path from the folder. Hidden files and linked folders are left out,
    with a note of how many they are.
    """
    notes = [
        f"{TABLE_NOTE}'{table.name}': to read that table, write '{table}' in place of "
        f"'{folder}'."
        for table in _list_tables(folder)[:1]
    ]
    return Table(KNOWN, _rows(folder.absolute(), notes), notes)


def _list_tables(folder: Path) -> list[Path]:
    """Return the tables in a folder, which it may be named for by mistake."""
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.suffix.lower() in _TABLES and not path.name.startswith(".")
        )
    except OSError:
        return []


def _rows(folder: Path, notes: list[str]) -> Iterator[Row]:
    number, texts_found, left_out = 0, 0, Counter[str]()

    def count_unreadable(problem: OSError) -> None:
        left_out["folders that cannot be read"] += 1

    for place, folders, files in os.walk(folder, onerror=count_unreadable):
        left_out["hidden files and folders"] += sum(
            name.startswith(".") for name in (*folders, *files)
        )
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        left_out["linked folders"] += sum(Path(place, n).is_symlink() for n in folders)
        shown = sorted(name for name in files if not name.startswith("."))
        pictures = [n for n in shown if Path(n).suffix.lower() in ENDINGS]
        texts = {Path(name).with_suffix(".txt").name for name in pictures}
        left_out["files that are not pictures"] += len(
            {*shown}.difference(pictures, texts)
        )
        labels = list(Path(place).relative_to(folder).parts)
        for name in pictures:
            path = Path(place, name)
            number += 1
            inside = path.relative_to(folder).as_posix()
            cells = {"id": inside, "image": str(path), "labels": labels}
            text, trouble = _read_text(path.with_suffix(".txt"))
            texts_found += text is not None
            yield Row(f"picture {number}", cells | {"text": text}, trouble)
    counts = [
        f"{many:,} {_ONE.get(what, what) if many == 1 else what}"
        for what, many in left_out.items()
        if many
    ]
    if counts:
        notes.append(f"left out: {', '.join(counts)}.")
    if number and not texts_found:
        notes.append(
            "no picture has a text. For training, put a .txt with the text beside "
            "each picture, such as mug1.txt beside mug1.jpg."
        )


def _read_text(path: Path) -> tuple[str | None, str]:
    """Return a text, if there is one, and the problem with it."""
    try:
        with open(path, "rb") as file:
            content = file.read(CELL_BYTES + 1)
        return content.decode("utf-8-sig"), ""
    except FileNotFoundError:
        return None, ""
    except OSError as problem:
        return None, f"'{path}' cannot be read ({problem.strerror or problem})."
    except UnicodeDecodeError:
        return None, f"'{path}' is not UTF-8 text; save it as UTF-8."
