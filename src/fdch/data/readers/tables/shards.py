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
from typing import IO, Any, NamedTuple

from fdch.data.pictures.decoding import ENDINGS
from fdch.data.readers.columns import KNOWN, Layout
from fdch.data.readers.tables.table import CELL_BYTES, Row, Table
from fdch.data.rows import shorten

_BLOCK = 512
_EXTENSION_BYTES = 2**20  # of a long name, or of a PAX header
_DIGITS = 20  # of a length
_SPARSE = "GNU.sparse"  # sparse files: their bytes are not stored as they are
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_SAMPLE = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)", re.DOTALL)
_PICTURES = tuple(ending.removeprefix(".") for ending in ENDINGS)
_ENDINGS = (*_PICTURES, "txt", "cls", "json")


class Member(NamedTuple):
    """A file in a tar file: its name, and where its bytes are."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class ShardPicture:
    """Where a picture lies in a shard."""

    shard: Path
    member: Member

    @property
    def name(self) -> str:
        """What an error calls it."""
        return f"picture '{shorten(self.member.name)}' in '{self.shard}'"

    @property
    def size(self) -> int:
        """Bytes of its file."""
        return self.member.size

    def read(self) -> bytes:
        """Read its file."""
        return _read(self.shard, self.member)


def open_shard(path: Path, layout: Layout) -> Table:
    """Read the samples of a tar file."""
    notes: list[str] = []
    return Table(KNOWN, _rows(path, notes), notes, is_open=True)


def _rows(path: Path, notes: list[str]) -> Iterator[Row]:
    ignored = 0

    def find_files() -> Iterator[tuple[re.Match[str], Member]]:
        nonlocal ignored
        for member in list_members(path):
            found = _SAMPLE.fullmatch(member.name)
            if found and found[2].lower() in _ENDINGS:
                yield found, member
            else:
                ignored += 1

    known = find_files()
    samples = groupby(known, key=lambda pair: pair[0][1])
    for number, (key, files) in enumerate(samples, start=1):
        cells: dict[str, Any] = {"id": key}
        try:
            for found, member in files:
                _take(cells, found[2].lower(), path, member)
        except (ValueError, RecursionError) as problem:
            yield Row(f"sample {number}", {"id": key}, f"{problem}.")
            continue
        yield Row(f"sample {number}", cells)
    if ignored:
        notes.append(
            f"left out: {ignored:,} files of '{path.name}' that belong to no sample or "
            "have another ending."
        )


def _take(cells: dict[str, Any], ending: str, path: Path, member: Member) -> None:
    """Add a file's content to the cells of its sample."""
    if ending in _PICTURES:
        if "image" in cells:
            raise ValueError(f"'{member.name}' is its second picture")
        cells["image"] = ShardPicture(path, member)
    elif ending == "txt":
        cells["text"] = _read_text(path, member)
    elif ending == "cls":
        cells["labels"] = [_read_text(path, member)]
    elif ending == "json":
        found = json.loads(_read_text(path, member))
        if not isinstance(found, dict):
            raise ValueError(f"'{member.name}' is no JSON object")
        for column, value in found.items():
            if column not in ("id", "image"):  # the sample's own
                cells.setdefault(column, value)


def _read_text(path: Path, member: Member) -> str:
    if member.size > CELL_BYTES:
        raise ValueError(
            f"'{member.name}' has {member.size:,} bytes; the limit is {CELL_BYTES:,}"
        )
    try:
        return _read(path, member).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"'{member.name}' is not UTF-8 text") from None


def _read(path: Path, member: Member) -> bytes:
    with open(path, "rb") as file:
        file.seek(member.offset)
        content = file.read(member.size)
    if len(content) < member.size:
        raise OSError("the shard has become shorter")
    return content


def list_members(path: Path) -> Iterator[Member]:
    """Yield the files in a tar file, in their order; an error where it is damaged."""
    total, place = path.stat().st_size, 0
    extended: dict[str, str] = {}  # from extension headers before a file's own header
    with open(path, "rb") as file:
        while True:
            file.seek(place)
            block = file.read(_BLOCK)
            if len(block) < _BLOCK or not any(block):
                return
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            size = int(extended.get("size", header.size))
            if size < 0 or place + _BLOCK + size > total:
                raise ValueError(
                    f"at byte {place:,} a file of {size:,} bytes is cut off"
                )
            if header.type in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
                extended |= _read_extension(file, header.type, size)
            else:
                if header.type in _REGULAR and _SPARSE not in extended:
                    name = extended.get("path", header.name)
                    yield Member(name, place + _BLOCK, size)
                extended = {}
            place += _BLOCK + -(-size // _BLOCK) * _BLOCK


def _read_extension(file: IO[bytes], kind: bytes, size: int) -> dict[str, str]:
    """Read a long name, or the records "LENGTH KEY=VALUE" of a PAX header."""
    if size > _EXTENSION_BYTES:
        raise ValueError(f"a header of {size:,} bytes")
    content = file.read(size)
    if kind == tarfile.GNUTYPE_LONGNAME:
        return {"path": content.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    found, place = {}, 0
    while place < size:
        digits = content[place : place + _DIGITS].split(b" ", 1)[0]
        length = int(digits)
        if not len(digits) < length <= size - place:
            raise ValueError("a record of a wrong length")
        record = content[place + len(digits) + 1 : place + length - 1]
        key, _, value = record.decode("utf-8", "surrogateescape").partition("=")
        found[key] = value
        if key.startswith(_SPARSE):
            found[_SPARSE] = value
        place += length
    return found
