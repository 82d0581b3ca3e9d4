"""Make an index on a server, or delete one.

The collection of codes is made last, when its model is there: an index is made once
it is. What a process that was killed has made before that is used by the next one.
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fdch.errors import FdchError, IndexFolderError, StoreAway
from fdch.index.milvus.collection import Collection
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.model import ModelCollection, passing_folder
from fdch.index.milvus.schema import make_schema, read_description, write_description
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
    codes, models = Collection(connection), ModelCollection(connection)
    try:
        fingerprint = model if isinstance(model, str) else ""
        if callable(model):
            with passing_folder() as folder:
                fingerprint = model(folder)
                models.save(generation, folder)
        description = write_description(
            bits, fingerprint, facts, generation, vector_bytes, types
        )
        schema = make_schema(bits, description, vector_bytes)
        try:
            # Refused where another has been made meanwhile, whose description differs.
            codes.create(schema, num_shards=connection.address.shards)
        except IndexFolderError as problem:
            if _is_anothers(codes, generation):
                raise _taken(connection) from problem
            raise
        if callable(model) and not models.is_saved(generation):
            raise IndexFolderError(
                f"the model of {connection.address} was deleted while the index was "
                "being made, perhaps by another process that made it too. Create it "
                "again."
            )
        models.forget(generation, "!=")
    except StoreAway:
        raise  # what it has is used by the next one
    except BaseException:
        with suppress(FdchError):
            if _is_anothers(codes, generation):
                models.forget(generation)
            else:
                codes.drop()
                models.drop()
        raise
    return read_description(connection.address, description)


def drop_index(connection: Connection) -> None:
    """Delete an index that fdch made, with its model; leave those of others alone."""
    codes = Collection(connection)
    read_description(connection.address, codes.description())
    codes.drop()
    ModelCollection(connection).drop()


def require_free(connection: Connection) -> None:
    """Refuse names that are taken, by an index or by another program."""
    if Collection(connection).exists():
        raise _taken(connection)
    ModelCollection(connection).require_usable()


def _is_anothers(codes: Collection, generation: str) -> bool:
    return codes.exists() and generation not in codes.description()


def _taken(connection: Connection) -> IndexFolderError:
    address = connection.address
    return IndexFolderError(
        f"there is a collection '{address.collection}' at {address.server} already. "
        "Open it, or choose another name."
    )
