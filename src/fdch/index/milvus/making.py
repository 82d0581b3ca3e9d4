"""Make an index on a server, or delete one.

The collection of codes is made last, when its model is there: an index is made once
it is. What a process that was killed has made before that is used by the next one.
"""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from fdch.errors import FdchError, IndexFolderError, StoreAway
from fdch.index.milvus.collection import Collection
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.model import ModelCollection, passing_folder
from fdch.index.milvus.schema import Description, make_schema

if TYPE_CHECKING:
    from fdch.index.storage.creating import WriteModel


def make_index(
    connection: Connection, description: Description, write_model: "WriteModel | None"
) -> Description:
    """Make an empty index, with its model if that is written, or nothing at all.

    Returns:
        The description, with the fingerprint of the model that was written.
    """
    require_free(connection)
    generation = description.generation
    codes, models = Collection(connection), ModelCollection(connection)
    try:
        if write_model is not None:
            with passing_folder() as folder:
                description = replace(description, model=write_model(folder))
                models.save(generation, folder)
        schema, shards = make_schema(description), connection.address.shards
        try:
            # Refused where another has been made meanwhile, whose description differs.
            codes.create(schema, num_shards=shards)
        except IndexFolderError as problem:
            if _is_anothers(codes, generation):
                raise _taken(connection) from problem
            raise
        if write_model is not None and not models.is_saved(generation):
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
    return description


def drop_index(connection: Connection) -> None:
    """Delete an index that fdch made, with its model; leave those of others alone."""
    codes = Collection(connection)
    Description.read(connection.address, codes.description())
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
