"""Make an index on a server, or delete one.

The collection of codes is made last, when its model is there: an index is made once
it is. A model that was sent before an error or a kill is replaced by the next one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from fdch.errors import IndexFolderError, StoreAway
from fdch.index.milvus.collection import Collection
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.model import ModelCollection, passing_folder
from fdch.index.milvus.schema import Description, make_schema

if TYPE_CHECKING:
    from fdch.index.storage.creating import WriteModel


def make_index(
    connection: Connection, description: Description, write_model: "WriteModel | None"
) -> Description:
    """Make an empty index, with its model if that is written.

    Returns:
        The description, with the fingerprint of the model that was written.
    """
    require_free(connection)
    codes, models = Collection(connection), ModelCollection(connection)
    if write_model is not None:
        with passing_folder() as folder:
            model = write_model(folder)
            size, digest = models.save(description.generation, folder)
        description = replace(
            description, model=model, model_bytes=size, model_digest=digest
        )
    try:
        # Refused where another has been made meanwhile, whose description differs.
        shards = connection.address.shards
        codes.create(make_schema(description), num_shards=shards)
    except StoreAway:
        raise
    except IndexFolderError:
        models.forget(description.generation)
        require_free(connection)
        raise
    models.forget(description.generation, "!=")
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
        address = connection.address
        raise IndexFolderError(
            f"there is a collection '{address.collection}' at {address.server} "
            "already. Open it, or choose another name."
        )
    ModelCollection(connection).require_usable()
