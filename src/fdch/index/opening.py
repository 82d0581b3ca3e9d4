"""From what a user calls an index to its store: a folder, or a Milvus collection."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fdch.errors import IndexFolderError
from fdch.index.column_types import read_types
from fdch.index.store import CodeStore, ColumnType

if TYPE_CHECKING:
    from fdch.index.milvus import MilvusStore
    from fdch.index.storage.creating import WriteModel
    from fdch.index.storage.folder import CodeFolder

MILVUS = "milvus://"


def create_store(
    name: str | Path,
    bits: int,
    model: "str | WriteModel",
    facts: Mapping[str, object] | None = None,
    vector_bytes: int = 0,
    types: Mapping[str, ColumnType] | None = None,
) -> CodeStore:
    """Make an empty store, a folder or milvus://host:port/collection, or none at all.

    Args:
        name: Where there is none yet.
        bits: Length of the codes.
        model: Fingerprint of the model that makes the codes; or what writes the
            model's files into a folder and returns the fingerprint.
        facts: What else to say about the index; plain values for JSON.
        vector_bytes: Bytes of the vector that is kept of each item; 0 for none.
        types: How columns are compared, where that is not to be found.
    """
    types, kind = read_types(types or {}), _find_kind(name)
    return kind.create(str(name), bits, model, facts, vector_bytes, types)


def require_free(name: str | Path) -> None:
    """Refuse a place where no store can be made, before any work is done for it."""
    _find_kind(name).require_free(str(name))


def open_store(name: str | Path, writable: bool = False) -> CodeStore:
    """Open a store by its name: a folder, or milvus://host:port/collection."""
    return _find_kind(name).open(str(name), writable)


def _find_kind(name: str | Path) -> "type[CodeFolder | MilvusStore]":
    """Return what opens a store of this name, loaded when it is needed."""
    if is_server(name):
        from fdch.index.milvus import MilvusStore

        return MilvusStore
    from fdch.index.storage.folder import CodeFolder

    return CodeFolder


def require_folder(name: str | Path) -> Path:
    """Refuse a server where only a folder can be maintained."""
    if is_server(name):
        raise IndexFolderError(
            f"'{name}' is on a server, which maintains it; this command is for index "
            "folders."
        )
    return Path(name)


def is_server(name: str | Path) -> bool:
    """Return whether a name is a server's address, not a folder's path.

    >>> is_server("milvus://127.0.0.1:19530/catalogue"), is_server("catalogue.index")
    (True, False)
    """
    if isinstance(name, Path):
        return False
    scheme, found, _ = name.partition("://")
    if found and scheme + found != MILVUS:
        raise IndexFolderError(
            f"'{name}' is not an index; give a folder, or milvus://host:port/collection."
        )
    return bool(found)
