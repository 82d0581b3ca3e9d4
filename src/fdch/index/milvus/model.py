"""The model's files in a collection beside the codes: one archive, in pieces.

Milvus has no files: each piece is a row of text. A model is sent under a generation
of its own, which the collection of codes names, with the archive's checksum. Pieces of
other generations, left by processes that were killed, are deleted once an index is
made.
"""

import base64
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.milvus.collection import STRONG, Collection
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.expressions import literal
from fdch.index.milvus.schema import Description
from fdch.index.milvus.searching import batches

MARK = "fdch model, format 2"
PIECE_BYTES = 48_000  # 64,000 letters; Milvus takes 65,535
MAX_BYTES = 2 * 2**30
VECTOR = "unused"  # Milvus demands one in every collection
PIECES_A_REQUEST = 100


class ModelCollection(Collection):
    """The collection of model files that belongs to one of codes."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, connection.address.model_collection, VECTOR)

    def is_ours(self) -> bool:
        """Return whether it is there and was made by fdch."""
        return self.exists() and self.description() == MARK

    def require_usable(self) -> None:
        """Refuse another program's collection in its place."""
        if self.exists() and not self.is_ours():
            raise IndexFolderError(
                f"collection '{self.name}' at {self.connection.address.server}, where "
                "the model would be kept, was not made by fdch. Choose another name; "
                "fdch does not change this one."
            )

    def save(self, generation: str, folder: Path) -> tuple[int, str]:
        """Send the files of a folder, to be found by their generation.

        Returns:
            Size and checksum of their archive.
        """
        if not self.exists():
            self.create(_make_schema())
        self.load()
        with tempfile.TemporaryFile() as file:
            with ZipFile(file, "w") as archive:
                for path in sorted(folder.rglob("*")):
                    archive.write(path, path.relative_to(folder))
            size = file.tell()
            if size > MAX_BYTES:
                raise IndexFolderError(
                    f"'{folder}' has {size:,} bytes; a model kept on Milvus has at "
                    f"most {MAX_BYTES:,}."
                )
            digest = _digest(file)
            for numbers in batches(_numbers(size), PIECES_A_REQUEST):
                rows = [_row(generation, n, file.read(PIECE_BYTES)) for n in numbers]
                self.call("upsert", data=rows)
        return size, digest

    def write_files(self, described: Description, into: Path) -> None:
        """Write the files of a collection's model, unchanged, into a folder."""
        size, digest = described.model_bytes, described.model_digest
        if not size or not self.exists():
            raise self._damage("it was never saved")
        if not self.is_ours() or size > MAX_BYTES:
            raise self._damage(f"'{self.name}' was not made by fdch")
        self.load()
        with tempfile.TemporaryFile() as file:
            for piece in self._pieces(described.generation, size):
                file.write(piece)
            if file.tell() != size or _digest(file) != digest:
                raise self._damage("it has changed since it was saved")
            try:
                with ZipFile(file) as archive:
                    if sum(each.file_size for each in archive.infolist()) > MAX_BYTES:
                        raise self._damage(f"it has more than {MAX_BYTES:,} bytes")
                    archive.extractall(into)
            except BadZipFile as problem:
                raise self._damage(str(problem)) from problem

    def forget(self, generation: str, operator: str = "==") -> None:
        """Delete the files of one generation, or with "!=" those of all others."""
        if self.is_ours():
            self.call("delete", filter=f"generation {operator} {literal(generation)}")

    def drop(self) -> None:
        """Delete it, if fdch made it."""
        if self.is_ours():
            super().drop()

    def _pieces(self, generation: str, size: int) -> Iterator[bytes]:
        keys = [f"{generation}/{number}" for number in _numbers(size)]
        for part in batches(keys, PIECES_A_REQUEST):
            contents = self._contents(part)
            for key in part:
                try:
                    yield base64.b64decode(contents[key], validate=True)
                except (KeyError, ValueError):
                    raise self._damage("a piece is missing or damaged") from None

    def _contents(self, keys: Sequence[str]) -> dict[str, str]:
        wanted = f"key in [{', '.join(map(literal, keys))}]"
        # Strong: another client may have saved the model a moment ago.
        rows = self.query(wanted, ["key", "content"], STRONG)
        return {row["key"]: row["content"] for row in rows}

    def _damage(self, reason: str) -> DamagedIndex:
        address = self.connection.address
        return DamagedIndex(
            f"the model of {address} cannot be used: {reason}. Create the index again "
            f"under another name, or delete the collections '{address.collection}' and "
            f"'{self.name}' first."
        )


def _make_schema() -> Any:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, description=MARK)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=200)
    schema.add_field("generation", DataType.VARCHAR, max_length=32)
    schema.add_field("content", DataType.VARCHAR, max_length=65_535)
    schema.add_field(VECTOR, DataType.BINARY_VECTOR, dim=8)
    return schema


def _row(generation: str, number: int, piece: bytes) -> dict[str, Any]:
    content = base64.b64encode(piece).decode()
    row = {"key": f"{generation}/{number}", "generation": generation}
    return {**row, "content": content, VECTOR: b"\0"}


def _numbers(size: int) -> range:
    """Return the numbers of the pieces of so many bytes."""
    return range(-(-size // PIECE_BYTES))


def _digest(file: BinaryIO) -> str:
    """Hash a file from its start, and go back there."""
    digest = hashlib.blake2b(digest_size=16)
    file.seek(0)
    while block := file.read(1 << 20):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest()
