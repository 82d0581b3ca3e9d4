"""A folder of pictures: its subfolders are labels, a .txt beside a picture its text."""

import os
from collections.abc import Iterator
from pathlib import Path

from fdch.data.pictures.decoding import ENDINGS
from fdch.data.readers.manifest_rows import CELL_BYTES, Row, Table

COLUMNS = ("id", "image", "text", "labels")


def open_folder(folder: Path) -> Table:
    """Read the pictures in a folder and below it, in the order of their names.

    An id is the path from the folder. Hidden files and linked folders are left out.
    """
    return Table(COLUMNS, _rows(folder.absolute()))


def _rows(folder: Path) -> Iterator[Row]:
    number = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        labels = list(Path(place).relative_to(folder).parts)
        for name in sorted(files):
            path = Path(place, name)
            if name.startswith(".") or path.suffix.lower() not in ENDINGS:
                continue
            number += 1
            inside = path.relative_to(folder).as_posix()
            cells = {"id": inside, "image": str(path), "labels": labels}
            text, trouble = _read_text(path.with_suffix(".txt"))
            yield Row(f"picture {number}", cells | {"text": text}, trouble)


def _read_text(path: Path) -> tuple[str | None, str]:
    """Read a text, if there is one; give also what is wrong with it."""
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
