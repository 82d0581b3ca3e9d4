"""Ties and pages against a server that cuts both as badly as it may."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import Codes, hamming_distances
from fdch.errors import DamagedIndex
from fdch.index.milvus import Address
from fdch.index.milvus.searching import MAX_HITS, Search, answer

BITS = 5


class Server:
    """Gives the nearest, the last inserted first among equals: never what we want."""

    address = Address("db", 19530, "photos")

    def __init__(self, codes, numbers):
        self.codes = codes
        self.numbers = numbers
        self.most = 0

    def call(self, name, collection, **request):
        bounds = request["search_params"]["params"]
        low, high = bounds.get("range_filter", 0), bounds.get("radius", BITS + 1)
        return [
            self.hits(query, request["limit"], request["filter"] or "True", low, high)
            for query in request["data"]
        ]

    def hits(self, query, limit, condition, low, high):
        self.most = max(self.most, limit)
        one = Codes(np.frombuffer(query, np.uint8)[None], BITS)
        distances = hamming_distances(one, self.codes)[0]
        rows: list[dict[str, Any]] = [
            {
                "distance": float(distance),
                "id": f"item {number}",
                "entity": {"number": number, "code": code.tobytes()},
            }
            for distance, number, code in zip(
                distances.tolist(), self.numbers, self.codes.packed, strict=True
            )
            if low <= distance < high and eval(condition, {"number": number})
        ]
        rows.sort(key=lambda row: (row["distance"], -row["entity"]["number"]))
        return rows[:limit]


def searching(server: Any, filter="", page=MAX_HITS):
    return Search(server, BITS, filter, page)


def some_codes(count, seed=0):
    signs = np.random.default_rng(seed).random((count, BITS)) < 0.5
    return Codes(np.packbits(signs, axis=1), BITS)


def expected(codes, query, most, radius=BITS):
    distances = hamming_distances(query, codes)[0]
    order = [i for i in np.argsort(distances, kind="stable") if distances[i] <= radius]
    return [(int(distances[i]), f"item {i}") for i in order[:most]]


def plain(hits):
    return [(hit.distance, hit.id) for hit in hits]


@given(
    count=st.integers(0, 60),
    k=st.integers(1, 70),
    page=st.integers(2, 20),
    radius=st.integers(0, BITS),
    seed=st.integers(0, 99),
)
def test_answers_are_exact_however_small_the_pages(count, k, page, radius, seed):
    codes = some_codes(count, seed)
    server = Server(codes, range(count))
    search = searching(server, page=page)
    query = some_codes(1, seed + 1)
    assert plain(next(search.nearest(query, k))) == expected(codes, query, k)
    (near,) = search.nearest(query, k, radius)
    assert plain(near) == expected(codes, query, k, radius)
    (all_near,) = search.within(query, radius)
    assert plain(all_near) == expected(codes, query, None, radius)
    assert server.most <= page


def test_the_filter_holds_in_every_slice():
    codes = some_codes(50)
    search = searching(Server(codes, range(50)), "number >= 20", page=4)
    (hits,) = search.within(some_codes(1), BITS)
    assert sorted(hit.number for hit in hits) == list(range(20, 50))


def test_many_queries_are_answered_in_order():
    codes = some_codes(30)
    search = searching(Server(codes, range(30)))
    found = list(search.nearest(codes, 1))
    assert [hits[0].distance for hits in found] == [0] * 30
    assert [hits[0].code for hits in found] == [c.tobytes() for c in codes.packed]


def test_numbers_given_twice_end_in_an_error_not_in_a_loop():
    search = searching(Server(some_codes(9), [7] * 9), page=4)
    with pytest.raises(DamagedIndex, match="insertion number 7"):
        list(search.within(some_codes(1), BITS))


def test_nothing_found_is_an_empty_answer():
    empty = answer([], 13, scanned=4)
    assert (empty.ids, len(empty.codes), empty.codes.bits) == ((), 0, 13)
    assert empty.distances.dtype == np.uint16
