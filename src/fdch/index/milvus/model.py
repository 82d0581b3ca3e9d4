"""The model's files in a collection beside the codes, in pieces under checksums.

Milvus has no files: each piece is a row of text. A model is sent under a generation
of its own, which the collection of codes names. What others sent, and were killed
before they made theirs, is nobody's and goes once ours is made.
"""

import base64
import binascii
import hashlib
import json
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.files import write_whole
from fdch.index.milvus.collection import index_on, load_collection
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
    """Name a folder for a model on its way, gone at the end.

    Those that killed processes have left go first.
    """
    temporary = Path(tempfile.gettempdir())
    clear_staging(temporary)
    with staging_folder(temporary / MODEL, secrets.token_hex(16)) as staging:
        staging.chmod(0o700)  # others may list the place it lies in
        yield staging / MODEL


def is_ours(connection: Connection) -> bool:
    """Return whether there is a collection for the model that fdch made."""
    collection = connection.address.model_collection
    if not connection.call("has_collection", collection):
        return False
    described = connection.call("describe_collection", collection)
    return bool(described.get("description") == MARK)


def require_usable(connection: Connection) -> None:
    """Refuse another program's collection in the model's place."""
    address = connection.address
    collection = address.model_collection
    if connection.call("has_collection", collection) and not is_ours(connection):
        raise IndexFolderError(
            f"collection '{collection}' at {address.server}, where the model would be "
            "kept, was not made by fdch. Choose another name; fdch leaves this one "
            "alone."
        )


def save_model(connection: Connection, generation: str, folder: Path) -> None:
    """Send the files of a folder, to be found by their generation."""
    paths = _files(folder)
    collection = connection.address.model_collection
    if not connection.call("has_collection", collection):
        _create(connection, collection)
    load_collection(connection, collection, VECTOR)
    kept = [_send(connection, generation, path) for path in paths]
    row = _row(LIST, generation, json.dumps(kept))
    connection.call("upsert", collection, [row])


def load_model(connection: Connection, generation: str, into: Path) -> None:
    """Write the files of a generation into a folder, as they were sent."""
    collection = connection.address.model_collection
    if not connection.call("has_collection", collection):
        raise _lost(connection, "it was never saved")
    if not is_ours(connection):
        raise _lost(connection, f"'{collection}' was not made by fdch")
    load_collection(connection, collection, VECTOR)
    files = _read_list(connection, generation)
    into.mkdir(parents=True, exist_ok=True)
    for kept in files:
        receive = partial(_receive, connection, generation, kept)
        write_whole(into / kept.name, receive)


def is_saved(connection: Connection, generation: str) -> bool:
    """Return whether the files of a generation have all been sent, and are there."""
    key = f"{generation}/{LIST}"
    return is_ours(connection) and key in _contents(connection, [key])


def forget_model(connection: Connection, generation: str, operator: str = "==") -> None:
    """Delete the files of one generation, or with "!=" those of all others."""
    if is_ours(connection):
        connection.call(
            "delete",
            connection.address.model_collection,
            filter=f"generation {operator} {literal(generation)}",
        )


def drop_models(connection: Connection) -> None:
    """Delete the whole collection, if fdch made it."""
    if is_ours(connection):
        connection.call("drop_collection", connection.address.model_collection)


def _files(folder: Path) -> list[Path]:
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


def _create(connection: Connection, collection: str) -> None:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, description=MARK)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=200)
    schema.add_field("generation", DataType.VARCHAR, max_length=32)
    schema.add_field("content", DataType.VARCHAR, max_length=65_535)
    schema.add_field(VECTOR, DataType.BINARY_VECTOR, dim=8)
    index = index_on(VECTOR)
    connection.call("create_collection", collection, schema=schema, index_params=index)


def _send(connection: Connection, generation: str, path: Path) -> Kept:
    collection = connection.address.model_collection
    digest, size = hashlib.blake2b(digest_size=16), 0
    rows: list[dict[str, Any]] = []
    with path.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            digest.update(piece)
            key = f"{path.name}/{size // PIECE_BYTES}"
            rows.append(_row(key, generation, base64.b64encode(piece).decode()))
            size += len(piece)
            if len(rows) == PIECES_A_REQUEST:
                connection.call("upsert", collection, rows)
                rows = []
    if rows:
        connection.call("upsert", collection, rows)
    return Kept(path.name, size, digest.hexdigest())


def _read_list(connection: Connection, generation: str) -> list[Kept]:
    key = f"{generation}/{LIST}"
    contents = _contents(connection, [key])
    try:
        files = [Kept(*entry) for entry in json.loads(contents[key])]
        plain = all(
            type(kept.size) is int and kept.size >= 0 and SAFE_NAME.fullmatch(kept.name)
            for kept in files
        )
    except (KeyError, ValueError, TypeError, RecursionError):
        plain = False
    if not plain or not 1 <= len(files) <= MAX_FILES:
        raise _lost(connection, "its list of files is missing or damaged")
    if sum(kept.size for kept in files) > MAX_BYTES:
        raise _lost(connection, f"it claims more than {MAX_BYTES:,} bytes")
    return files


def _receive(connection: Connection, generation: str, kept: Kept, path: Path) -> None:
    digest = hashlib.blake2b(digest_size=16)
    size = 0
    with path.open("wb") as opened:
        for piece in _pieces(connection, generation, kept):
            digest.update(piece)
            size += opened.write(piece)
    if (size, digest.hexdigest()) != (kept.size, kept.digest):
        raise _lost(connection, f"'{kept.name}' is not as it was written")


def _pieces(connection: Connection, generation: str, kept: Kept) -> Iterator[bytes]:
    count = -(-kept.size // PIECE_BYTES)
    keys = [f"{generation}/{kept.name}/{number}" for number in range(count)]
    for part in batches(keys, PIECES_A_REQUEST):
        contents = _contents(connection, part)
        for key in part:
            try:
                yield base64.b64decode(contents[key], validate=True)
            except (KeyError, binascii.Error, ValueError):
                raise _lost(
                    connection, f"a piece of '{kept.name}' is missing or damaged"
                ) from None


def _contents(connection: Connection, keys: Any) -> dict[str, str]:
    # Strong: another client may have saved the model a moment ago.
    rows = connection.call(
        "query",
        connection.address.model_collection,
        filter=f"key in [{', '.join(map(literal, keys))}]",
        output_fields=["key", "content"],
        consistency_level="Strong",
    )
    return {row["key"]: row["content"] for row in rows}


def _row(key: str, generation: str, content: str) -> dict[str, Any]:
    row = {"key": f"{generation}/{key}", "generation": generation, "content": content}
    return {**row, VECTOR: b"\0"}


def _lost(connection: Connection, reason: str) -> DamagedIndex:
    address = connection.address
    return DamagedIndex(
        f"the model of {address} cannot be used: {reason}. Create the index again "
        f"under another name, or delete the collections '{address.collection}' and "
        f"'{address.model_collection}' first."
    )
