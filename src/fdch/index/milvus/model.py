"""The model's files in a collection beside the codes, in pieces under checksums.

Milvus has no files: each piece is a row of text. New pieces are written under a
new generation, then one row, the list of files, points to them; so a reader finds
the old model or the new one, never a mixture.
"""

import base64
import binascii
import hashlib
import json
import re
import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.files import write_whole
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.expressions import literal
from fdch.index.milvus.searching import METRIC, batches

MARK = "fdch model, format 1"
PIECE_BYTES = 48_000  # 64,000 letters; Milvus takes 65,535
MOST_BYTES = 2 * 2**30
MOST_FILES = 64
LIST = "files"
SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
PIECES_A_REQUEST = 100


class Kept(NamedTuple):
    """A file as the list of files knows it."""

    name: str
    size: int
    digest: str


def save_model(connection: Connection, folder: Path) -> None:
    """Keep the files of a folder, in place of any kept before.

    Raises:
        IndexFolderError: The folder has folders, odd names or too many bytes.
    """
    paths = _files(folder)
    collection = connection.address.model_collection
    if not connection.call("has_collection", collection):
        _create(connection, collection)
    _load(connection, collection)
    generation = secrets.token_hex(8)
    kept = [_send(connection, generation, path) for path in paths]
    listed = json.dumps({"generation": generation, "files": kept})
    connection.call("upsert", collection, [_row(LIST, generation, listed)])
    others = f"key != {literal(LIST)} and generation != {literal(generation)}"
    connection.call("delete", collection, filter=others)


def load_model(connection: Connection, into: Path) -> None:
    """Write the files kept into a folder.

    Raises:
        DamagedIndex: There are none, or they are not as they were written.
    """
    collection = connection.address.model_collection
    if not connection.call("has_collection", collection):
        raise _lost(connection, "it was never saved")
    described = connection.call("describe_collection", collection)
    if described.get("description") != MARK:
        raise _lost(connection, f"'{collection}' was not made by fdch")
    _load(connection, collection)
    generation, files = _read_list(connection)
    into.mkdir(parents=True, exist_ok=True)
    for kept in files:
        receive = partial(_receive, connection, generation, kept)
        write_whole(into / kept.name, receive)


def _files(folder: Path) -> list[Path]:
    paths = sorted(folder.iterdir())
    odd = [p.name for p in paths if not p.is_file() or not SAFE_NAME.fullmatch(p.name)]
    if odd:
        raise IndexFolderError(
            f"'{folder}' cannot be kept on Milvus: '{odd[0]}' is no plain file with a "
            "plain name."
        )
    size = sum(path.stat().st_size for path in paths)
    if size > MOST_BYTES or not 1 <= len(paths) <= MOST_FILES:
        raise IndexFolderError(
            f"'{folder}' has {len(paths)} files of {size:,} bytes; a model kept on "
            f"Milvus has 1 to {MOST_FILES} files of at most {MOST_BYTES:,} bytes."
        )
    return paths


def _create(connection: Connection, collection: str) -> None:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, description=MARK)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=200)
    schema.add_field("generation", DataType.VARCHAR, max_length=32)
    schema.add_field("content", DataType.VARCHAR, max_length=65_535)
    # Milvus demands a vector in every collection.
    schema.add_field("unused", DataType.BINARY_VECTOR, dim=8)
    index = MilvusClient.prepare_index_params()
    index.add_index("unused", index_type="BIN_FLAT", metric_type=METRIC)
    connection.call("create_collection", collection, schema=schema, index_params=index)


def _load(connection: Connection, collection: str) -> None:
    connection.call("load_collection", collection)


def _send(connection: Connection, generation: str, path: Path) -> Kept:
    digest = hashlib.blake2b(digest_size=16)
    rows: list[dict[str, Any]] = []
    size = 0
    with path.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            digest.update(piece)
            key = _key(generation, path.name, size // PIECE_BYTES)
            rows.append(_row(key, generation, base64.b64encode(piece).decode()))
            size += len(piece)
            if len(rows) == PIECES_A_REQUEST:
                _upsert(connection, rows)
                rows = []
    _upsert(connection, rows)
    return Kept(path.name, size, digest.hexdigest())


def _upsert(connection: Connection, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.call("upsert", connection.address.model_collection, rows)


def _read_list(connection: Connection) -> tuple[str, list[Kept]]:
    contents = _contents(connection, [LIST])
    try:
        listed = json.loads(contents[LIST])
        files = [Kept(*entry) for entry in listed["files"]]
        generation = listed["generation"]
        plain = isinstance(generation, str) and all(
            type(kept.size) is int and kept.size >= 0 and SAFE_NAME.fullmatch(kept.name)
            for kept in files
        )
    except (KeyError, ValueError, TypeError, RecursionError):
        plain = False
    if not plain or not 1 <= len(files) <= MOST_FILES:
        raise _lost(connection, "its list of files is missing or damaged")
    if sum(kept.size for kept in files) > MOST_BYTES:
        raise _lost(connection, f"it claims more than {MOST_BYTES:,} bytes")
    return generation, files


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
    keys = [_key(generation, kept.name, number) for number in range(count)]
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


def _key(generation: str, name: str, number: int) -> str:
    return f"{generation}/{name}/{number}"


def _row(key: str, generation: str, content: str) -> dict[str, Any]:
    return {
        "key": key,
        "generation": generation,
        "content": content,
        "unused": b"\0",
    }


def _lost(connection: Connection, reason: str) -> DamagedIndex:
    return DamagedIndex(
        f"the model of {connection.address} cannot be used: {reason}. Create the index "
        "again, or save the model again from its run."
    )
