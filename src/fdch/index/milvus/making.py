"""Make an index on a server, or delete one.

The collection of codes is made last, when its model is there: an index is made once
it is. What a process that was killed has made before that is used by the next one.
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fdch.errors import FdchError, IndexFolderError, StoreAway
from fdch.index.milvus import model as models
from fdch.index.milvus.collection import Collection
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.schema import read_description, write_description
from fdch.index.store import ColumnType

if TYPE_CHECKING:
    from fdch.index.storage.creating import WriteModel


def make_index(
    connection: Connection,
    bits: int,
    model: "str | WriteModel",
    facts: Mapping[str, object],
    vector_bytes: int = 0,
    types: Mapping[str, ColumnType] | None = None,
) -> dict[str, Any]:
    """Make an empty index with its model, or nothing; return what describes it."""
    require_free(connection)
    generation = secrets.token_hex(8)
    try:
        fingerprint = model if isinstance(model, str) else ""
        if callable(model):
            with models.passing_folder() as folder:
                fingerprint = model(folder)
                models.save_model(connection, generation, folder)
        description = write_description(
            bits, fingerprint, facts, generation, vector_bytes, types
        )
        try:
            # Refused where another has been made meanwhile, whose description differs.
            Collection(connection).create(bits, description, vector_bytes)
        except IndexFolderError as problem:
            if _is_anothers(connection, generation):
                raise _taken(connection) from problem
            raise
        if callable(model) and not models.is_saved(connection, generation):
            raise IndexFolderError(
                f"the model of {connection.address} was deleted while the index was "
                "being made, perhaps by another process that made it too. Create it "
                "again."
            )
        models.forget_model(connection, generation, "!=")
    except StoreAway:
        raise  # what it has is used by the next one
    except BaseException:
        with suppress(FdchError):
            _take_back(connection, generation)
        raise
    return read_description(connection.address, description)


def drop_index(connection: Connection) -> None:
    """Delete an index that fdch made, with its model; leave those of others alone."""
    address = connection.address
    described = connection.call("describe_collection", address.collection)
    read_description(address, described["description"])
    connection.call("drop_collection", address.collection)
    models.drop_models(connection)


def require_free(connection: Connection) -> None:
    """Refuse names that are taken, by an index or by another program."""
    if connection.call("has_collection", connection.address.collection):
        raise _taken(connection)
    models.require_usable(connection)


def _take_back(connection: Connection, generation: str) -> None:
    """Delete what was made under a generation, and nothing of a quicker process."""
    if _is_anothers(connection, generation):
        models.forget_model(connection, generation)
        return
    connection.call("drop_collection", connection.address.collection)
    models.drop_models(connection)


def _is_anothers(connection: Connection, generation: str) -> bool:
    collection = connection.address.collection
    if not connection.call("has_collection", collection):
        return False
    described = connection.call("describe_collection", collection)
    return generation not in described["description"]


def _taken(connection: Connection) -> IndexFolderError:
    address = connection.address
    return IndexFolderError(
        f"there is a collection '{address.collection}' at {address.server} already. "
        "Open it, or choose another name."
    )
