"""Exact answers from a server that returns ties in any order, in limited pages.

Milvus returns at most 16,384 hits, the nearest ones, and among equally distant hits
any of them. Where a page ends inside a distance, that distance is requested by
itself, in slices of insertion numbers small enough to be whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fdch.codes import Codes
from fdch.errors import DamagedIndex, SettingError
from fdch.index.milvus.connection import Connection
from fdch.index.milvus.expressions import NUMBER
from fdch.index.milvus.schema import CODE, VECTOR, read_vectors
from fdch.index.store import Answer

MAX_HITS = 16_384
MAX_ROWS = 65_536  # of all queries of one request together
METRIC = "HAMMING"
T = TypeVar("T")


class Hit(NamedTuple):
    """An item found; hits sort by distance, then insertion."""

    distance: int
    number: int
    id: str
    code: bytes
    vector: str = ""  # as it is written


@dataclass(frozen=True)
class Search:
    """Searches of one collection under one filter, Milvus' expression; "" for none."""

    connection: Connection
    bits: int
    filter: str = ""
    page: int = MAX_HITS  # most hits of one request
    vector_bytes: int = 0

    def find(
        self, queries: Codes, k: int | None, radius: int | None
    ) -> list[list[Hit]]:
        """Find for each query the nearest, or all within a radius, or both."""
        if k is not None and k < 1:
            raise SettingError(f"at least one item must be requested; got {k}.")
        if radius is not None and radius < 0:
            return [[] for _ in queries.packed]
        if k is not None:
            return list(self.nearest(queries, k, radius))
        return list(self.within(queries, self.bits if radius is None else radius))

    def nearest(
        self, queries: Codes, k: int, radius: int | None = None
    ) -> Iterator[list[Hit]]:
        """Yield for each query its k nearest, no farther than the radius."""
        farthest = self.bits if radius is None else min(radius, self.bits)
        limit = min(2 * k + 64, self.page)
        rows = [row.tobytes() for row in queries.packed]
        for part in batches(rows, max(1, MAX_ROWS // limit)):
            pages = self._request(part, limit, 0, farthest)
            for query, hits in zip(part, pages, strict=True):
                whole = len(hits) < limit
                yield (hits if whole else self._complete(query, k, hits, farthest))[:k]

    def within(self, queries: Codes, radius: int) -> Iterator[list[Hit]]:
        """Yield for each query all items no farther than the radius."""
        for row in queries.packed:
            yield sorted(self._slices(row.tobytes(), 0, min(radius, self.bits)))

    def _complete(
        self, query: bytes, k: int, hits: list[Hit], farthest: int
    ) -> list[Hit]:
        """Replace what a page has of its last distance, and go on to k hits."""
        distance = hits[-1].distance
        found = [hit for hit in hits if hit.distance < distance]
        while len(found) < k and distance <= farthest:
            at_distance = self._slices(query, distance, distance)
            found += islice(at_distance, k - len(found))
            distance += 1
        return found

    def _slices(
        self, query: bytes, nearest: int, farthest: int, numbers: str = ""
    ) -> Iterator[Hit]:
        """Yield all hits between two distances, slices of insertion in order."""
        (hits,) = self._request([query], self.page, nearest, farthest, numbers)
        if len(hits) < self.page:
            yield from sorted(hits, key=lambda hit: hit.number)
            return
        numbered = sorted({hit.number for hit in hits})
        if len(numbered) == 1:
            raise DamagedIndex(
                f"{len(hits):,} items of collection "
                f"'{self.connection.address.collection}' have the insertion number "
                f"{numbered[0]}, which fdch gives once. Add them again."
            )
        middle = numbered[(len(numbered) - 1) // 2]
        for half in (f"{NUMBER} <= {middle}", f"{NUMBER} > {middle}"):
            inside = f"{numbers} and {half}" if numbers else half
            yield from self._slices(query, nearest, farthest, inside)

    def _request(
        self,
        queries: Sequence[bytes],
        limit: int,
        nearest: int,
        farthest: int,
        numbers: str = "",
    ) -> list[list[Hit]]:
        """Send one request; hits come back sorted."""
        parts = [part for part in (self.filter, numbers) if part]
        is_all = nearest == 0 and farthest >= self.bits
        bounds = {} if is_all else {"radius": farthest + 1, "range_filter": nearest}
        replies = self.connection.call(
            "search",
            self.connection.address.collection,
            data=list(queries),
            anns_field=CODE,
            limit=limit,
            filter=" and ".join(f"({part})" for part in parts),
            output_fields=[NUMBER, CODE, *([VECTOR] if self.vector_bytes else [])],
            search_params={"metric_type": METRIC, "params": bounds},
            consistency_level=self.connection.address.level,
        )
        return [sorted(_hit(hit) for hit in reply) for reply in replies]


def answer(
    hits: Sequence[Hit], bits: int, scanned: int, vector_bytes: int = 0
) -> Answer:
    """Put hits into the form that every store returns."""
    packed = np.frombuffer(b"".join(hit.code for hit in hits), dtype=np.uint8)
    return Answer(
        ids=tuple(hit.id for hit in hits),
        distances=np.array([hit.distance for hit in hits], dtype=np.uint16),
        codes=Codes(packed.reshape(len(hits), (bits + 7) // 8), bits),
        scanned=scanned,
        vectors=read_vectors([hit.vector for hit in hits], vector_bytes),
    )


def batches(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def as_bytes(code: Any) -> bytes:
    """Return a code as bytes; some clients wrap it in a list."""
    return bytes(code[0]) if isinstance(code, list) else bytes(code)


def _hit(hit: Any) -> Hit:
    entity = hit["entity"]
    code, vector = as_bytes(entity[CODE]), entity.get(VECTOR, "")
    return Hit(round(hit["distance"]), entity[NUMBER], hit["id"], code, vector)
