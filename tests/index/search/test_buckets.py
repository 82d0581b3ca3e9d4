"""Buckets give the answers of the full scan, whatever the radius."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.search.lengths import lengths

from fdch.codes import Codes
from fdch.errors import DamagedIndex
from fdch.index.search.buckets import (
    Buckets,
    choose_cuts,
    count_openings,
    list_openings,
    within_buckets,
)
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.groups import group_rows
from fdch.index.search.lookup import within
from fdch.index.search.rows import row_words
from fdch.index.search.scan import load_kernels

LONG = 10**12  # nanoseconds


def draw_codes(rng, number, bits, flips):
    middle = np.random.default_rng(7).integers(0, 2, (5, bits))
    signs = middle[rng.integers(0, 5, number)] ^ (rng.random((number, bits)) < flips)
    return Codes(np.packbits(signs.astype(np.uint8), axis=1), bits)


def pairs(found):
    return [
        list(zip(some.distances.tolist(), some.numbers.tolist(), strict=True))
        for some in found
    ]


@pytest.fixture(autouse=True)
def build_for_few_rows(monkeypatch):
    monkeypatch.setattr("fdch.index.search.buckets.MIN_ROWS", 1)


@st.composite
def bucketed_parts(draw):
    """Draw a part with buckets, grouped or not, and the same part without."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bits = draw(st.sampled_from(lengths(12, 24, 36, 40, 72, 320, 384, 512)))
    size = draw(st.integers(1, 600))
    codes = draw_codes(rng, size, bits, draw(st.sampled_from([0.0, 0.03, 0.5])))
    rows, grouping = row_words(codes), None
    if draw(st.booleans()):
        grouping = group_rows(rows, bits, rows[: draw(st.integers(1, 5))], 1)
    dead = rng.random(size) < 0.3 if draw(st.booleans()) else None
    buckets = Buckets.build(rows if grouping is None else grouping.rows, bits)
    assert buckets is not None
    queries = draw_codes(rng, 4, bits, 0.03)
    return Part(rows, 3, dead, grouping, buckets), Part(rows, 3, dead), queries, bits


@given(parts=bucketed_parts(), radius=st.integers(0, 9))
def test_buckets_hold_all_within_a_radius(parts, radius):
    part, plain, queries, bits = parts
    truth = within(Gallery(bits, (plain,)), queries, radius, engine="numpy")
    found = within_buckets(part, part.buckets, row_words(queries), radius, LONG)
    for keys, some in zip(found, truth, strict=True):
        assert keys is not None
        expected = (some.distances.astype(np.int64) << 48) | some.numbers
        assert np.sort(keys).tolist() == expected.tolist()


@pytest.mark.parametrize("engine", ["auto", "numpy"])
@given(parts=bucketed_parts(), radius=st.integers(-1, 70), many=st.booleans())
def test_whatever_way_is_chosen_answers_are_the_scan_s(engine, parts, radius, many):
    part, plain, queries, bits = parts
    some = queries if many else queries[:1]
    truth = within(Gallery(bits, (plain,)), some, radius, engine="numpy")
    found = within(Gallery(bits, (part,)), some, radius, engine=engine)
    assert pairs(found) == pairs(truth)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("radius", [0, 2, 5, 12, 40])
def test_every_way_is_right_for_many_rows(radius, grouped):
    codes = draw_codes(np.random.default_rng(0), 100_000, 64, 0.1)
    rows, grouping = row_words(codes), None
    if grouped:
        grouping = group_rows(rows, 64, rows[:60], 1)
    stored = rows if grouping is None else grouping.rows
    dead = np.random.default_rng(1).random(len(rows)) < 0.5
    part = Part(rows, 0, dead, grouping, Buckets.build(stored, 64))
    plain, quick = (Gallery(64, (each,)) for each in (Part(rows, 0, dead), part))
    truth = within(plain, codes[:70], radius)
    for count in (1, 5, 70):
        for threads in (1, 2):
            found = within(quick, codes[:count], radius, threads=threads)
            assert pairs(found) == pairs(truth[:count])


@pytest.mark.parametrize("bits", lengths(64, 128))
def test_only_queries_with_many_results_are_looked_up_again(bits, monkeypatch):
    monkeypatch.setattr("fdch.index.search.scan.FIRST_ROOM", 4)
    monkeypatch.setattr("fdch.index.search.scan.ROOM_OF_FEW", 0)
    several = draw_codes(np.random.default_rng(0), 5, bits, 0.5)
    rows = row_words(several[[0, 1, 2, 3, *[4] * 300]])
    part = Part(rows, 0, buckets=Buckets.build(rows, bits))
    assert part.buckets is not None
    found = within_buckets(part, part.buckets, row_words(several), 1, LONG)
    numbers = [np.sort(keys).tolist() for keys in found if keys is not None]
    assert numbers == [[0], [1], [2], [3], list(range(4, 304))]  # at distance 0


def test_a_lookup_that_takes_too_long_is_skipped():
    codes = draw_codes(np.random.default_rng(0), 1000, 64, 0.1)
    rows = row_words(codes)
    buckets = Buckets.build(rows, 64)
    assert buckets is not None
    part = Part(rows, 0, None, None, buckets)
    assert within_buckets(part, buckets, rows[:2], 2, 0) == [None, None]
    assert within_buckets(part, buckets, rows[:2], 30, 0) == [None, None]


@pytest.mark.parametrize(
    ("bits", "count", "tables", "width"),
    [
        (64, 10_000_000, 3, 21),
        (64, 1_000_000, 3, 19),
        (64, 20_000, 4, 14),
        (32, 10_000_000, 1, 21),
        (128, 10_000_000, 4, 21),
        (16, 10_000_000, 1, 16),
        (8, 10_000_000, 0, 8),
    ],
)
def test_tables_suit_length_and_number(bits, count, tables, width):
    cuts, chosen = choose_cuts(bits, count)
    assert (len(cuts), chosen) == (tables, width)


@given(st.integers(12, 512), st.integers(1, 2**25))
def test_tables_sort_by_bits_of_their_own(bits, count):
    cuts, width = choose_cuts(bits, count)
    taken = [(word, shift + i) for word, shift in cuts.tolist() for i in range(width)]
    assert len(set(taken)) == len(taken)
    assert all(64 * word + bit < -(-bits // 8) * 8 for word, bit in taken)


@pytest.mark.parametrize(
    ("tables", "width", "radius"), [(1, 5, 2), (3, 6, 7), (4, 3, 2)]
)
def test_each_bucket_within_reach_is_opened_once(tables, width, radius):
    openings = [tuple(pair) for pair in list_openings(tables, width, radius).tolist()]
    assert len(set(openings)) == len(openings)
    assert len(openings) == count_openings(tables, width, radius)


def test_memory_stays_below_forty_bytes_a_code():
    cuts, width = choose_cuts(64, 10_000_000)
    tables = len(cuts) * (4 * ((1 << width) + 1) + 4 * 10_000_000)
    grouping = 2 * 4 * 10_000_000
    assert 8 + (tables + grouping) / 10_000_000 < 40


def test_without_numba_there_are_no_buckets(monkeypatch):
    monkeypatch.setitem(sys.modules, "fdch.index.search.bucket_kernels", None)
    load_kernels.cache_clear()
    try:
        assert Buckets.build(np.zeros(50_000, dtype=np.uint64), 64) is None
    finally:
        load_kernels.cache_clear()


def test_few_rows_get_no_buckets(monkeypatch):
    monkeypatch.setattr("fdch.index.search.buckets.MIN_ROWS", 1000)
    assert Buckets.build(np.zeros(999, dtype=np.uint64), 64) is None


class TestKept:
    @pytest.fixture
    def buckets(self):
        return Buckets.build(np.arange(500, dtype=np.uint64), 64)

    def test_arrays_round_trip(self, buckets):
        again = Buckets.from_arrays(buckets.arrays(), 64, 500)
        for name, values in buckets.arrays().items():
            assert np.array_equal(values, again.arrays()[name])

    @pytest.mark.parametrize("name", ["starts", "places", "cuts"])
    def test_a_missing_or_shorter_array_is_refused(self, buckets, name):
        arrays = buckets.arrays()
        with pytest.raises(DamagedIndex, match=name):
            Buckets.from_arrays({**arrays, name: arrays[name][:-1]}, 64, 500)
        del arrays[name]
        with pytest.raises(DamagedIndex, match=name):
            Buckets.from_arrays(arrays, 64, 500)

    def test_other_bits_are_refused(self, buckets):
        arrays = {**buckets.arrays(), "cuts": buckets.cuts + 1}
        with pytest.raises(DamagedIndex, match="other bits"):
            Buckets.from_arrays(arrays, 64, 500)

    @pytest.mark.parametrize("name", ["starts", "places"])
    def test_damaged_tables_find_nothing(self, buckets, name):
        wrong = np.full_like(buckets.arrays()[name], 2**32 - 1)
        assert self.look_up(buckets, **{name: wrong}) == []

    def test_rows_found_by_damaged_tables_are_within_the_radius(self, buckets):
        right = self.look_up(buckets)
        near = [row for row in range(500) if row.bit_count() <= 2]
        assert right == sorted((row.bit_count() << 48) | row for row in near)
        wrong = buckets.places.copy()
        wrong[:, ::2] = 2**32 - 1
        found = self.look_up(buckets, places=wrong)
        assert 0 < len(found) < len(right)
        assert set(found) < set(right)

    def look_up(self, buckets, **damaged):
        """Give the sorted keys of rows within two bits of zero."""
        arrays = {**buckets.arrays(), **damaged}
        rows = np.arange(500, dtype=np.uint64)
        read = Buckets.from_arrays(arrays, 64, 500)
        part = Part(rows, 0, None, None, read)
        [keys] = within_buckets(part, read, rows[:1], 2, LONG)
        assert keys is not None
        return sorted(keys.tolist())
