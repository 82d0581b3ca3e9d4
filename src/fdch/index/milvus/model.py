"""The model's files in a collection beside the codes, in pieces under checksums.

Milvus has no files: each piece is a row of text. A model is sent under a generation
of its own, which the collection of codes names. Files of other generations, left by
processes that were killed, are deleted once an index is made.
"""

import base64
import binascii
import hashlib
import json
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.files import write_whole
from fdch.index.milvus.collection import STRONG, Collection
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.expressions import literal
from fdch.index.milvus.searching import batches
from fdch.index.storage.files.layout import MODEL
from fdch.index.storage.files.staging import clear_staging, staging_folder

MARK = "fdch model, format 1"
PIECE_BYTES = 48_000  # 64,000 letters; Milvus takes 65,535
MAX_BYTES = 2 * 2**30
MAX_FILES = 64
LIST = "files"
VECTOR = "unused"  # Milvus demands one in every collection
SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
PIECES_A_REQUEST = 100


class Kept(NamedTuple):
    """A file as the list of files knows it."""

    name: str
    size: int
    digest: str


@contextmanager
def passing_folder() -> Iterator[Path]:
    """Name a temporary folder for a model on its way; those of killed processes go."""
    temporary = Path(tempfile.gettempdir())
    clear_staging(temporary)
    with staging_folder(temporary / MODEL, secrets.token_hex(16)) as staging:
        staging.chmod(0o700)  # others may list the place it lies in
        yield staging / MODEL


def list_files(folder: Path) -> list[Path]:
    """List a model's files; refuse what cannot be kept on a server."""
    paths = sorted(folder.iterdir())
    odd = [p.name for p in paths if not p.is_file() or not SAFE_NAME.fullmatch(p.name)]
    if odd:
        raise IndexFolderError(
            f"'{folder}' cannot be kept on Milvus: '{odd[0]}' is no plain file with a "
            "plain name."
        )
    size = sum(path.stat().st_size for path in paths)
    if size > MAX_BYTES or not 1 <= len(paths) <= MAX_FILES:
        raise IndexFolderError(
            f"'{folder}' has {len(paths)} files of {size:,} bytes; a model kept on "
            f"Milvus has 1 to {MAX_FILES} files of at most {MAX_BYTES:,} bytes."
        )
    return paths


class ModelCollection(Collection):
    """The collection of model files that belongs to one of codes."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, connection.address.model_collection, VECTOR)

    def is_ours(self) -> bool:
        """Tell whether it is there and was made by fdch."""
        return self.exists() and self.description() == MARK

    def require_usable(self) -> None:
        """Refuse another program's collection in its place."""
        if self.exists() and not self.is_ours():
            raise IndexFolderError(
                f"collection '{self.name}' at {self.connection.address.server}, where "
                "the model would be kept, was not made by fdch. Choose another name; "
                "fdch leaves this one alone."
            )

    def save(self, generation: str, folder: Path) -> None:
        """Send the files of a folder, to be found by their generation."""
        paths = list_files(folder)
        if not self.exists():
            self.create(_make_schema())
        self.load()
        kept = [self._send(generation, path) for path in paths]
        self.call("upsert", data=[_row(LIST, generation, json.dumps(kept))])

    def write_files(self, generation: str, into: Path) -> None:
        """Write the files of a generation into a folder, as they were sent."""
        if not self.exists():
            raise self._lost("it was never saved")
        if not self.is_ours():
            raise self._lost(f"'{self.name}' was not made by fdch")
        self.load()
        files = self._read_list(generation)
        into.mkdir(parents=True, exist_ok=True)
        for kept in files:
            write_whole(into / kept.name, partial(self._receive, generation, kept))

    def forget(self, generation: str, operator: str = "==") -> None:
        """Delete the files of one generation, or with "!=" those of all others."""
        if self.is_ours():
            self.call("delete", filter=f"generation {operator} {literal(generation)}")

    def drop(self) -> None:
        """Delete it, if fdch made it."""
        if self.is_ours():
            super().drop()

    def _send(self, generation: str, path: Path) -> Kept:
        digest, size = hashlib.blake2b(digest_size=16), 0
        rows: list[dict[str, Any]] = []
        with path.open("rb") as opened:
            while piece := opened.read(PIECE_BYTES):
                digest.update(piece)
                key = f"{path.name}/{size // PIECE_BYTES}"
                rows.append(_row(key, generation, base64.b64encode(piece).decode()))
                size += len(piece)
                if len(rows) == PIECES_A_REQUEST:
                    self.call("upsert", data=rows)
                    rows = []
        if rows:
            self.call("upsert", data=rows)
        return Kept(path.name, size, digest.hexdigest())

    def _read_list(self, generation: str) -> list[Kept]:
        key = f"{generation}/{LIST}"
        contents = self._contents([key])
        try:
            files = [Kept(*entry) for entry in json.loads(contents[key])]
            is_plain = all(
                type(each.size) is int
                and each.size >= 0
                and SAFE_NAME.fullmatch(each.name)
                for each in files
            )
        except (KeyError, ValueError, TypeError, RecursionError):
            is_plain = False
        if not is_plain or not 1 <= len(files) <= MAX_FILES:
            raise self._lost("its list of files is missing or damaged")
        if sum(kept.size for kept in files) > MAX_BYTES:
            raise self._lost(f"it claims more than {MAX_BYTES:,} bytes")
        return files

    def _receive(self, generation: str, kept: Kept, path: Path) -> None:
        digest, size = hashlib.blake2b(digest_size=16), 0
        with path.open("wb") as opened:
            for piece in self._pieces(generation, kept):
                digest.update(piece)
                size += opened.write(piece)
        if (size, digest.hexdigest()) != (kept.size, kept.digest):
            raise self._lost(f"'{kept.name}' is not as it was written")

    def _pieces(self, generation: str, kept: Kept) -> Iterator[bytes]:
        count = -(-kept.size // PIECE_BYTES)
        keys = [f"{generation}/{kept.name}/{number}" for number in range(count)]
        for part in batches(keys, PIECES_A_REQUEST):
            contents = self._contents(part)
            for key in part:
                try:
                    yield base64.b64decode(contents[key], validate=True)
                except (KeyError, binascii.Error, ValueError):
                    raise self._lost(
                        f"a piece of '{kept.name}' is missing or damaged"
                    ) from None

    def _contents(self, keys: Sequence[str]) -> dict[str, str]:
        wanted = f"key in [{', '.join(map(literal, keys))}]"
        # Strong: another client may have saved the model a moment ago.
        rows = self.query(wanted, ["key", "content"], STRONG)
        return {row["key"]: row["content"] for row in rows}

    def _lost(self, reason: str) -> DamagedIndex:
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


def _row(key: str, generation: str, content: str) -> dict[str, Any]:
    row = {"key": f"{generation}/{key}", "generation": generation, "content": content}
    return {**row, VECTOR: b"\0"}
