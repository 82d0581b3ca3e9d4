"""A Milvus collection that keeps a store's promises.

Where a server cannot promise what a folder does, docs/milvus.md says so: `add` is
whole for each batch of rows, not for the call; ties are ordered by the writers'
clocks; one batch is on the server's log, not on this machine's disk.
"""

import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fdch.codes import Codes
from fdch.errors import IndexFolderError, SettingError, StoreAway
from fdch.index.column_types import read_types
from fdch.index.milvus.address import Address
from fdch.index.milvus.collection import INDEX_TYPE, STRONG, Collection
from fdch.index.milvus.columns import Columns
from fdch.index.milvus.connection import TIMEOUT_SECONDS, Connection
from fdch.index.milvus.model import ModelCollection
from fdch.index.milvus.schema import (
    CODE,
    ITEM_FIELDS,
    VECTOR,
    Description,
    make_rows,
    make_schema,
    read_item,
    read_vectors,
)
from fdch.index.milvus.searching import MAX_HITS, Search, answer, as_bytes
from fdch.index.search.rows import MAX_BITS
from fdch.index.storage.files.layout import MODEL
from fdch.index.store import (
    LABEL,
    Added,
    Answer,
    Choose,
    CodeStore,
    ColumnFacts,
    ColumnType,
    Condition,
    Contents,
    Facets,
    Item,
    Known,
    Vectors,
    WordQuery,
    check_length,
    check_vector_bytes,
    check_vectors,
    unknown_ids,
)

if TYPE_CHECKING:
    from fdch.index.storage.creating import WriteModel

ITEM_IDS = 200  # texts of 64 KiB: 26 MB at most
UNCOUNTED = "a Milvus server does not count items by value."


class MilvusStore(CodeStore):
    """Codes under ids on a server; made by `create` and `open`.

    A search sees every `add` and `remove` that this store has acknowledged, and
    everything that anyone had acknowledged when it was opened.
    """

    keeps_types = False  # a collection's description cannot change

    def __init__(self, connection: Connection, described: Description) -> None:
        self._connection, self._described = connection, described
        self._collection = Collection(connection)
        self._columns = Columns(self._collection, described.types)
        self._last_number = 0
        self._model_folder: Path | None = None
        self._forget_model: Callable[[], object] = lambda: None
        self.name = str(connection.address)  # without a token
        self.bits, self.model = described.bits, described.model
        self.vector_bytes, self.facts = described.vector_bytes, described.facts

    @classmethod
    def create(
        cls,
        url: str,
        bits: int,
        model: "str | WriteModel",
        facts: Mapping[str, object] | None = None,
        vector_bytes: int = 0,
        types: Mapping[str, ColumnType] | None = None,
    ) -> Self:
        """Make an empty collection and that of its model; see `create_store`.

        The collection of codes is made last, when its model is there: an index is
        made once it is. A model that was sent before an error or a kill is replaced by
        the next one.
        """
        if not 1 <= bits <= MAX_BITS:
            raise SettingError(
                f"codes of {bits} bits; an index on Milvus takes 1 to {MAX_BITS}."
            )
        check_vector_bytes(vector_bytes)
        with closing(Connection(Address.parse(url))) as connection:
            require_free(connection)
            codes, models = Collection(connection), ModelCollection(connection)
            generation, size, digest = secrets.token_hex(8), 0, ""
            if not isinstance(model, str):
                with tempfile.TemporaryDirectory() as temporary:
                    folder = Path(temporary) / MODEL
                    model = model(folder)
                    size, digest = models.save(generation, folder)
            made = Description(
                bits=bits,
                model=model,
                facts=dict(facts or {}),
                generation=generation,
                vector_bytes=vector_bytes,
                types=dict(types or {}),
                model_bytes=size,
                model_digest=digest,
            )
            try:
                # Refused where another was made meanwhile, whose description differs.
                shards = connection.address.shards
                codes.create(make_schema(made), num_shards=shards)
            except StoreAway:
                raise
            except IndexFolderError:
                models.forget(generation)
                require_free(connection)
                raise
            models.forget(generation, "!=")
        return cls.open(url)

    @classmethod
    def open(
        cls, url: str, writable: bool = True, *, retry_seconds: float = TIMEOUT_SECONDS
    ) -> Self:
        """Open a collection made by `create`; any client may write to it.

        Calls are retried for `retry_seconds`.
        """
        address = Address.parse(url)
        with ExitStack() as stack:
            connection = stack.enter_context(
                closing(Connection(address, retry_seconds))
            )
            collection = Collection(connection)
            described = Description.read(address, collection.description())
            collection.load()
            collection.count(consistency=STRONG)
            stack.pop_all()
        return cls(connection, described)

    @staticmethod
    def require_free(url: str) -> None:
        """Refuse an address where `create` could not make a collection."""
        with closing(Connection(Address.parse(url))) as connection:
            require_free(connection)

    @staticmethod
    def drop(url: str) -> None:
        """Delete a collection made by `create`, with its model; no other's."""
        with closing(Connection(Address.parse(url))) as connection:
            codes = Collection(connection)
            Description.read(connection.address, codes.description())
            codes.drop()
            ModelCollection(connection).drop()

    def __len__(self) -> int:
        return self._collection.count()

    def add(
        self, items: Sequence[Item], codes: Codes, vectors: Vectors | None = None
    ) -> Added:
        """Add items; an item with a known id replaces that one.

        All are checked before any is sent. They go in batches, each whole; where
        the server fails between two, add the same items again: nothing is doubled.
        """
        check_length(self, codes)
        check_vectors(self.name, self.vector_bytes, len(codes), vectors)
        # Nanoseconds rise from call to call and from writer to writer.
        first = max(time.time_ns(), self._last_number + 1)
        rows = make_rows(items, codes, first, vectors)
        self._last_number = first + len(rows)
        known = self._collection.fetch([item.id for item in items], ["id"])
        self._collection.upsert(rows)
        return Added(new=len(rows) - len(known), replaced=len(known))

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove items; return those of the ids that were not there."""
        named = list(dict.fromkeys(ids))
        known = self._collection.fetch(named, ["id"])
        self._collection.delete(list(known))
        return [name for name in named if name not in known]

    def items(self, ids: Sequence[str]) -> list[Item | None]:
        """Return item records, None for an unknown id."""
        rows = self._collection.fetch(ids, ITEM_FIELDS, ITEM_IDS)
        return [read_item(rows[name]) if name in rows else None for name in ids]

    def fetch(self, ids: Sequence[str]) -> Known:
        """Return items, codes, vectors, some hundred at a time as of one moment."""
        fields = [*ITEM_FIELDS, CODE, *([VECTOR] if self.vector_bytes else [])]
        known = self._collection.fetch(ids, fields, ITEM_IDS)
        if unknown := [name for name in ids if name not in known]:
            raise unknown_ids(self.name, unknown)
        rows = [known[name] for name in ids]
        written = [row.get(VECTOR, "") for row in rows]
        vectors = read_vectors(written, self.vector_bytes)
        return Known([read_item(row) for row in rows], self._codes(rows), vectors)

    def sample(self, count: int, seed: int = 0) -> tuple[list[str], Codes]:
        """Return ids and codes of some items, in any order."""
        del seed  # Milvus draws nothing at random
        rows = self._collection.some(["id", CODE], min(count, MAX_HITS))
        return [row["id"] for row in rows], self._codes(rows)

    def contents(self, most: int = 20) -> Contents:
        """Return the types of columns; Milvus counts nothing by value."""
        del most
        types = self._columns.types().items()
        columns = {name: ColumnFacts(type, {}) for name, type in types}
        return Contents(uncounted=UNCOUNTED, columns=columns)

    def facets(
        self,
        where: Sequence[Condition] = (),
        most: int = 20,
        near: tuple[Codes, int] | None = None,
        words: WordQuery | None = None,
    ) -> Facets:
        """Count the items that fulfil conditions, within a radius of a code."""
        del most, words  # words have an obstacle here
        if near is not None:
            [found] = self.search(near[0], None, near[1], where)
            return Facets(len(found.ids), {}, {LABEL: UNCOUNTED})
        self._columns.require(where)
        items = self._collection.count(self._columns.expression(where))
        return Facets(items, {}, {LABEL: UNCOUNTED})

    def notes(self, where: Sequence[Condition]) -> tuple[str, ...]:
        """Say what is odd about conditions, such as a value that no item has."""
        return self._columns.notes(where)

    def types(self) -> dict[str, ColumnType]:
        """Return the types given at creation, and those found in some items."""
        return self._columns.types()

    def set_types(self, types: Mapping[str, ColumnType]) -> None:
        """Refuse types other than those that the index was made with."""
        chosen, kept = read_types(types), self._described.types
        if chosen.items() - kept.items():
            raise SettingError(
                "types of columns on Milvus are chosen when the index is made, by "
                "'fdch index create --type'; they cannot be changed later."
            )

    def search(
        self,
        queries: Codes,
        k: int | None = None,
        radius: int | None = None,
        where: Sequence[Condition] = (),
        choose: Choose | None = None,
        words: Sequence[WordQuery] | None = None,
    ) -> list[Answer]:
        """Find for each query the k nearest items, all within the radius, or both."""
        assert words is None, "Milvus matches no words"
        check_length(self, queries)
        width, filter = self.vector_bytes, self._columns.expression(where)
        search = Search(self._connection, self.bits, filter, vector_bytes=width)
        found = search.find(queries, k, radius)
        if where and not any(found):
            self._columns.require(where)
        finish = partial(answer, bits=self.bits, scanned=len(self), vector_bytes=width)
        answers = [finish(hits) for hits in found]
        for row, (hits, each) in enumerate(zip(found, answers, strict=True)):
            if choose is not None:
                places = choose(row, each.distances, each.codes, each.vectors, None)
                answers[row] = finish([hits[place] for place in places])
        return answers

    def words_obstacle(self) -> str:
        """Say that a server keeps texts, but not their words."""
        return "a Milvus server keeps texts, but no index of their words"

    def describe(self) -> dict[str, object]:
        """Return what there is; plain values for JSON."""
        address, items = self._connection.address, len(self)
        return {
            "items": items,
            "bits": self.bits,
            "model": self.model,
            "store": "milvus",
            "url": str(address),
            "vector_bytes": self.vector_bytes,
            "bytes": items * ((self.bits + 7) // 8 + self.vector_bytes),
            "index": INDEX_TYPE,
            "consistency": address.consistency,
            "server": self._connection.call("get_server_version"),
            "facts": self.facts,
        }

    def model_folder(self) -> Path:
        """Return a folder with the model's files; it lives until `close`."""
        if self._model_folder is None:
            folder = tempfile.mkdtemp(prefix="fdch-")
            # Also deleted where the store is forgotten, or the program ends.
            self._forget_model = weakref.finalize(self, shutil.rmtree, folder, True)
            models = ModelCollection(self._connection)
            models.write_files(self._described, Path(folder) / MODEL)
            self._model_folder = Path(folder) / MODEL
        return self._model_folder

    def close(self) -> None:
        """Close the connection, and delete the copy of the model."""
        self._connection.close()
        self._forget_model()
        self._model_folder = None

    def _codes(self, rows: Iterable[Mapping[str, Any]]) -> Codes:
        joined = b"".join(as_bytes(row[CODE]) for row in rows)
        packed = np.frombuffer(joined, dtype=np.uint8)
        return Codes(packed.reshape(-1, (self.bits + 7) // 8), self.bits)


def require_free(connection: Connection) -> None:
    """Refuse names that are taken, by an index or by another program."""
    if Collection(connection).exists():
        address = connection.address
        raise IndexFolderError(
            f"there is a collection '{address.collection}' at {address.server} "
            "already. Open it, or choose another name."
        )
    ModelCollection(connection).require_usable()
