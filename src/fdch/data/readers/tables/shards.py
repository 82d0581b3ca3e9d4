"""Tar shards in the WebDataset convention: files that share a name are a sample.

`beach/0001.jpg`, `beach/0001.txt` and `beach/0001.json`, one after the other, are the
sample "beach/0001". Headers are read one by one, and only texts are read with them:
a shard may be larger than memory, and anyone may have made it.
"""

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from fdch.data.pictures.decoding import ENDINGS
from fdch.data.readers.columns import KNOWN, Layout
from fdch.data.readers.tables.table import CELL_BYTES, Row, Table
from fdch.data.rows import shorten

_SAMPLE = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)", re.DOTALL)
_PICTURES = tuple(ending.removeprefix(".") for ending in ENDINGS)
_ENDINGS = (*_PICTURES, "txt", "cls", "json")


@dataclass(frozen=True, eq=False, slots=True)
class ShardFile:
    """A file in a shard, and where its bytes are."""

    shard: Path
    path: str
    offset: int
    size: int

    @property
    def name(self) -> str:
        """Its name in error messages."""
        return f"picture '{shorten(self.path)}' in '{self.shard}'"

    def read(self) -> bytes:
        """Read its bytes."""
        with open(self.shard, "rb") as file:
            file.seek(self.offset)
            content = file.read(self.size)
        if len(content) < self.size:
            raise OSError("the shard has become shorter")
        return content

    def read_text(self) -> str:
        """Read its text; ValueError where it is none, or too long."""
        if self.size > CELL_BYTES:
            raise ValueError(
                f"'{self.path}' has {self.size:,} bytes; the limit is {CELL_BYTES:,}"
            )
        try:
            return self.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"'{self.path}' is not UTF-8 text") from None


def open_shard(path: Path, layout: Layout) -> Table:
    """Read the samples of a tar file."""
    notes: list[str] = []
    return Table(KNOWN, _rows(path, notes), notes, is_open=True)


def _rows(path: Path, notes: list[str]) -> Iterator[Row]:
    ignored = 0

    def find_files() -> Iterator[tuple[re.Match[str], ShardFile]]:
        nonlocal ignored
        for file in list_members(path):
            found = _SAMPLE.fullmatch(file.path)
            if found and found[2].lower() in _ENDINGS:
                yield found, file
            else:
                ignored += 1

    samples = groupby(find_files(), key=lambda pair: pair[0][1])
    for number, (key, files) in enumerate(samples, start=1):
        cells: dict[str, Any] = {"id": key}
        try:
            for found, file in files:
                _take(cells, found[2].lower(), file)
        except (ValueError, RecursionError) as problem:
            yield Row(f"sample {number}", {"id": key}, f"{problem}.")
            continue
        yield Row(f"sample {number}", cells)
    if ignored:
        notes.append(
            f"left out: {ignored:,} files of '{path.name}' that belong to no sample or "
            "have another ending."
        )


def _take(cells: dict[str, Any], ending: str, file: ShardFile) -> None:
    """Add a file's content to the cells of its sample."""
    if ending in _PICTURES:
        if "image" in cells:
            raise ValueError(f"'{file.path}' is its second picture")
        cells["image"] = file
    elif ending == "txt":
        cells["text"] = file.read_text()
    elif ending == "cls":
        cells["labels"] = [file.read_text()]
    elif ending == "json":
        found = json.loads(file.read_text())
        if not isinstance(found, dict):
            raise ValueError(f"'{file.path}' is no JSON object")
        for column, value in found.items():
            if column not in ("id", "image"):  # the sample's own
                cells.setdefault(column, value)


def list_members(path: Path) -> Iterator[ShardFile]:
    """Yield the files in a tar file, in their order; an error where it is damaged."""
    size = path.stat().st_size
    with tarfile.open(path, "r:") as archive:
        while (member := archive.next()) is not None:
            # a shard may have millions of files
            archive.members.clear()  # type: ignore[attr-defined]
            end = member.offset_data + member.size
            if member.size < 0 or end > size:
                raise ValueError(
                    f"at byte {member.offset:,} a file of {member.size:,} bytes is cut "
                    "off"
                )
            if member.isreg() and not member.issparse():
                yield ShardFile(path, member.name, member.offset_data, member.size)
