"""Rows of one collection, read and written in requests the server takes."""

from collections.abc import Iterator, Sequence
from typing import Any

from fdch.errors import IndexFolderError
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.expressions import NUMBER, id_expression
from fdch.index.milvus.schema import CODE, Row, make_schema, row_bytes
from fdch.index.milvus.searching import MAX_HITS, METRIC, batches

INDEX_TYPE = "BIN_FLAT"
STRONG = "Strong"
BATCH_ROWS = 5_000
BATCH_BYTES = 16 * 2**20  # the server takes 64 MiB
LOOKUP_IDS = 4_000


class Collection:
    """The rows that an address names."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name = connection.address.collection

    def create(self, bits: int, description: str, vector_bytes: int = 0) -> None:
        """Make it, with an index on the codes, ready to search."""
        self.call(
            "create_collection",
            schema=make_schema(bits, description, vector_bytes),
            index_params=index_on(CODE),
            num_shards=self.connection.address.shards,
        )

    def load(self) -> None:
        """Have the server load it, so that it can be searched."""
        load_collection(self.connection, self.name, CODE)

    def upsert(self, rows: Sequence[Row]) -> None:
        """Write rows, in place of those with the same ids."""
        for batch in sized(rows):
            self.call("upsert", data=batch)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows, and wait until searches no longer see them."""
        for part in batches(ids, LOOKUP_IDS):
            self.call("delete", filter=id_expression(part))
        if ids:
            # Milvus 2.3 tells a client the time of its inserts, not of its deletes,
            # so "Session" alone does not wait for them.
            self.count(consistency=STRONG)

    def fetch(
        self, ids: Sequence[str], fields: list[str], size: int = LOOKUP_IDS
    ) -> dict[str, Row]:
        """Return the rows of those ids that are there."""
        found: dict[str, Row] = {}
        for part in batches(list(dict.fromkeys(ids)), size):
            rows = self._query(id_expression(part), fields)
            found |= {row["id"]: row for row in rows}
        return found

    def count(self, filter: str = "", consistency: str | None = None) -> int:
        """Count the rows that fulfil an expression, or all.

        "Strong" waits for all that anyone has written.
        """
        (row,) = self._query(filter, ["count(*)"], consistency_level=consistency)
        return int(row["count(*)"])

    def having(self, filter: str, fields: list[str], count: int) -> list[Row]:
        """Return some rows that fulfil an expression."""
        return self._query(filter, fields, limit=count)

    def some(self, fields: list[str], count: int) -> list[Row]:
        """Return some rows, as the server comes upon them."""
        return self._query(f"{NUMBER} >= 0", fields, limit=count)

    def numbers(self, inside: str = f"{NUMBER} >= 0") -> list[int]:
        """Return all insertion numbers, rising, in requests that are whole."""
        rows = self._query(inside, [NUMBER], limit=MAX_HITS)
        found = sorted({row[NUMBER] for row in rows})
        if len(rows) < MAX_HITS or len(found) == 1:
            return found
        middle = found[(len(found) - 1) // 2]
        return [
            *self.numbers(f"{inside} and {NUMBER} <= {middle}"),
            *self.numbers(f"{inside} and {NUMBER} > {middle}"),
        ]

    def between(
        self, first: int, last: int, fields: list[str], filter: str = ""
    ) -> list[Row]:
        """Return the rows of some insertion numbers, under an expression or none."""
        inside = f"{NUMBER} >= {first} and {NUMBER} <= {last}"
        inside += f" and ({filter})" if filter else ""
        return self._query(inside, fields, limit=MAX_HITS)

    def call(self, function: str, **options: Any) -> Any:
        """Call a function of the client on this collection."""
        return self.connection.call(function, self.name, **options)

    def _query(
        self,
        filter: str,
        fields: list[str],
        consistency_level: str | None = None,
        **options: Any,
    ) -> list[Row]:
        level = consistency_level or self.connection.address.level
        options["consistency_level"] = level
        rows = self.call("query", filter=filter, output_fields=fields, **options)
        return list(rows)


def index_on(vector: str) -> Any:
    """Describe the index on a field of vectors."""
    from pymilvus import MilvusClient

    index = MilvusClient.prepare_index_params()
    index.add_index(vector, index_type=INDEX_TYPE, metric_type=METRIC)
    return index


def load_collection(connection: Connection, name: str, vector: str) -> None:
    """Have the server load a collection, whose maker may have been killed early."""
    try:
        connection.call("load_collection", name)
    except IndexFolderError:
        if connection.call("list_indexes", name):
            raise
        connection.call("create_index", name, index_params=index_on(vector))
        connection.call("load_collection", name)


def sized(rows: Sequence[Row]) -> Iterator[list[Row]]:
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
