"""One collection, read and written in requests the server takes."""

from collections.abc import Iterator, Sequence
from typing import Any

from fdch.errors import IndexFolderError
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.expressions import NUMBER, id_expression
from fdch.index.milvus.schema import CODE, Row, row_bytes
from fdch.index.milvus.searching import METRIC, batches

INDEX_TYPE = "BIN_FLAT"
STRONG = "Strong"
BATCH_ROWS = 5_000
BATCH_BYTES = 16 * 2**20  # the server takes 64 MiB
LOOKUP_IDS = 4_000
ALL = f"{NUMBER} >= 0"


class Collection:
    """The collection of codes that an address names, unless another is named."""

    def __init__(
        self, connection: Connection, name: str = "", vector: str = CODE
    ) -> None:
        self.connection = connection
        self.name = name or connection.address.collection
        self.vector = vector

    def call(self, function: str, **options: Any) -> Any:
        """Call a function of the client on this collection."""
        return self.connection.call(function, self.name, **options)

    def exists(self) -> bool:
        """Return whether the server has it."""
        return bool(self.call("has_collection"))

    def description(self) -> str:
        """Return what its maker wrote about it."""
        return str(self.call("describe_collection")["description"])

    def create(self, schema: Any, **options: Any) -> None:
        """Make it, with an index on the vectors, ready to search."""
        index = self._index()
        self.call("create_collection", schema=schema, index_params=index, **options)

    def load(self) -> None:
        """Have the server load it; its maker may have been killed before the index."""
        try:
            self.call("load_collection")
        except IndexFolderError:
            if self.call("list_indexes"):
                raise
            self.call("create_index", index_params=self._index())
            self.call("load_collection")

    def drop(self) -> None:
        """Delete it."""
        self.call("drop_collection")

    def upsert(self, rows: Sequence[Row]) -> None:
        """Write rows, in place of those with the same ids."""
        for batch in cut_batches(rows):
            self.call("upsert", data=batch)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows, and wait until searches no longer see them."""
        for part in batches(ids, LOOKUP_IDS):
            self.call("delete", filter=id_expression(part))
        if ids:
            # Milvus 2.3 reports the time of inserts to a client, not of deletes, so
            # "Session" alone does not wait for them.
            self.count(consistency=STRONG)

    def fetch(
        self, ids: Sequence[str], fields: list[str], size: int = LOOKUP_IDS
    ) -> dict[str, Row]:
        """Return the rows of those ids that are there."""
        found: dict[str, Row] = {}
        for part in batches(list(dict.fromkeys(ids)), size):
            rows = self.query(id_expression(part), fields)
            found |= {row["id"]: row for row in rows}
        return found

    def count(self, filter: str = "", consistency: str | None = None) -> int:
        """Count the rows that match an expression, or all.

        "Strong" waits for all that anyone has written.
        """
        (row,) = self.query(filter, ["count(*)"], consistency)
        return int(row["count(*)"])

    def some(self, fields: list[str], count: int, filter: str = ALL) -> list[Row]:
        """Return some rows that match an expression, in any order."""
        return self.query(filter, fields, limit=count)

    def query(
        self,
        filter: str,
        fields: list[str],
        consistency: str | None = None,
        **options: Any,
    ) -> list[Row]:
        """Return the rows that match an expression."""
        level = consistency or self.connection.address.level
        options |= {"output_fields": fields, "consistency_level": level}
        return list(self.call("query", filter=filter, **options))

    def _index(self) -> Any:
        from pymilvus import MilvusClient

        index = MilvusClient.prepare_index_params()
        index.add_index(self.vector, index_type=INDEX_TYPE, metric_type=METRIC)
        return index


def cut_batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Cut rows into batches small enough for one request."""
    batch: list[Row] = []
    total = 0
    for row in rows:
        size = row_bytes(row)
        if batch and (len(batch) == BATCH_ROWS or total + size > BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(row)
        total += size
    if batch:
        yield batch
