"""Grouped rows give the answers of the full scan, ties and repeats included."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.search.lengths import lengths

from fdch.codes import Codes
from fdch.errors import DamagedIndex
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.groups import (
    Grouping,
    _find_centres,
    compared_share,
    count_reached,
    group_rows,
)
from fdch.index.search.lookup import nearest, within
from fdch.index.search.rows import row_words
from fdch.index.search.scan import load_kernels


def draw_codes(rng, number, bits, centres, flips):
    middle = np.random.default_rng(7).integers(0, 2, (centres, bits))
    signs = middle[rng.integers(0, centres, number)]
    signs = signs ^ (rng.random((number, bits)) < flips)
    return Codes(np.packbits(signs.astype(np.uint8), axis=1), bits)


def pairs(found):
    return [
        list(zip(some.distances.tolist(), some.numbers.tolist(), strict=True))
        for some in found
    ]


def only(gallery, allowed):
    return gallery if allowed is None else gallery.only(allowed)


@st.composite
def grouped(draw):
    """Draw galleries of the same rows, one plain and one with grouped parts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bits = draw(st.sampled_from(lengths(8, 24, 64, 320, 384, 512)))
    flips = draw(st.sampled_from([0.0, 0.05, 0.5]))
    plain, blocks, first = [], [], 0
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 800))
        rows = row_words(draw_codes(rng, size, bits, 5, flips))
        dead = rng.random(size) < 0.3 if draw(st.booleans()) else None
        chosen = rng.integers(0, size, draw(st.integers(1, 9)))
        grouping = group_rows(rows, bits, rows[chosen], 1)
        plain.append(Part(rows, first, dead))
        blocks.append(Part(rows, first, dead, grouping))
        first += size + 1
    queries = draw_codes(rng, 4, bits, 5, flips)
    allowed = None
    if draw(st.booleans()):
        allowed = np.flatnonzero(rng.random(first) < draw(st.sampled_from([0.05, 0.5])))
    return Gallery(bits, tuple(plain)), Gallery(bits, tuple(blocks)), queries, allowed


@pytest.mark.parametrize("engine", ["numba", "numpy"])
@given(search=grouped(), k=st.sampled_from([1, 7, 60, 3000]))
def test_groups_give_the_nearest_of_the_scan(engine, search, k):
    plain, blocks, queries, allowed = search
    truth = nearest(only(plain, allowed), queries, k, engine="numpy")
    found = nearest(only(blocks, allowed), queries, k, engine=engine)
    assert pairs(found) == pairs(truth)


@pytest.mark.parametrize("engine", ["numba", "numpy"])
@given(search=grouped(), radius=st.integers(-1, 40))
def test_groups_give_all_within_a_radius(engine, search, radius):
    plain, blocks, queries, allowed = search
    truth = within(only(plain, allowed), queries, radius, engine="numpy")
    found = within(only(blocks, allowed), queries, radius, engine=engine)
    assert pairs(found) == pairs(truth)


@pytest.mark.parametrize("flips", [0.0, 0.02])
def test_thousands_of_ties_are_cut_by_number(flips):
    rng = np.random.default_rng(0)
    codes = draw_codes(rng, 50_000, 64, 3, flips)
    rows = row_words(codes)
    centres = _find_centres(rows[:2000], 64, 4, rng)
    grouping = group_rows(rows, 64, centres, 2)
    plain = Gallery(64, (Part(rows, 0),))
    blocks = Gallery(64, (Part(rows, 0, None, grouping),))
    for k in (1, 10, 300):
        truth = nearest(plain, codes[:20], k)
        assert pairs(nearest(blocks, codes[:20], k)) == pairs(truth)


@pytest.mark.parametrize("seed", range(5))
def test_each_cluster_gets_a_centre_however_few_rows_it_has(seed):
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 2**64, 7, dtype=np.uint64)
    rows = np.repeat(clusters, [4000, 100, 100, 100, 100, 100, 100])
    centres = _find_centres(rows, 64, 16, rng)
    assert set(clusters.tolist()) <= set(centres.tolist())


def test_clustered_codes_are_grouped_and_mostly_skipped():
    codes = draw_codes(np.random.default_rng(0), 60_000, 64, 50, 0.05)
    rows = row_words(codes)
    grouping = Grouping.build(rows, 64)
    assert grouping is not None
    assert sorted(grouping.order.tolist()) == list(range(60_000))
    assert np.array_equal(grouping.rows, rows[grouping.order])
    assert compared_share(grouping, rows, 64, 100, rows[:64]) < 0.1
    part = Part(rows, 0, None, grouping)
    found = nearest(Gallery(64, (part,)), codes[:9], 50, threads=2)
    truth = nearest(Gallery(64, (Part(rows, 0),)), codes[:9], 50)
    assert pairs(found) == pairs(truth)


@pytest.mark.parametrize("radius", [0, 1, 2, 5, 64])
def test_rows_of_rings_within_reach_are_counted(radius):
    rows = np.arange(100, dtype=np.uint64)
    grouping = group_rows(rows, 64, rows[:1], 1)  # around 0: rings by bits that are set
    set_bits = [row.bit_count() for row in range(100)]
    for query in (0, 7, 2**64 - 1):
        far = query.bit_count()
        expected = sum(abs(far - ring) <= radius for ring in set_bits)
        queries = np.array([query], dtype=np.uint64)
        reached = count_reached(Part(rows, 0), grouping, queries, radius)
        assert reached.tolist() == [expected]


def test_random_codes_are_not_grouped():
    rows = np.random.default_rng(0).integers(0, 2**64, 40_000, dtype=np.uint64)
    assert Grouping.build(rows, 64) is None


def test_few_codes_are_not_grouped():
    assert Grouping.build(np.zeros(100, dtype=np.uint64), 64) is None


def test_without_numba_nothing_is_grouped(monkeypatch):
    monkeypatch.setitem(sys.modules, "fdch.index.search.group_kernels", None)
    load_kernels.cache_clear()
    try:
        assert Grouping.build(np.zeros(50_000, dtype=np.uint64), 64) is None
    finally:
        load_kernels.cache_clear()


def test_the_same_seed_gives_the_same_groups():
    rows = row_words(draw_codes(np.random.default_rng(0), 40_000, 64, 20, 0.03))
    one, two = Grouping.build(rows, 64, threads=1), Grouping.build(rows, 64, threads=2)
    assert one is not None
    assert two is not None
    for name, values in one.arrays().items():
        assert np.array_equal(values, two.arrays()[name])


class TestKept:
    @pytest.fixture
    def grouping(self):
        rows = np.arange(100, dtype=np.uint64)
        return group_rows(rows, 64, rows[:3], 1)

    def test_arrays_round_trip(self, grouping):
        again = Grouping.from_arrays(grouping.arrays(), 64, 100)
        for name, values in grouping.arrays().items():
            assert np.array_equal(values, again.arrays()[name])

    @pytest.mark.parametrize("name", ["rows", "order", "centres", "starts", "reaches"])
    def test_a_missing_or_shorter_array_is_refused(self, grouping, name):
        arrays = grouping.arrays()
        with pytest.raises(DamagedIndex):
            Grouping.from_arrays({**arrays, name: arrays[name][:-1]}, 64, 100)
        del arrays[name]
        with pytest.raises(DamagedIndex):
            Grouping.from_arrays(arrays, 64, 100)

    @pytest.mark.parametrize("value", [-1, 101])
    def test_rings_outside_the_rows_are_refused(self, grouping, value):
        starts = grouping.starts.copy()
        starts[0, -1] = value
        with pytest.raises(DamagedIndex, match="rings"):
            Grouping.from_arrays({**grouping.arrays(), "starts": starts}, 64, 100)

    def test_wrong_numbers_do_no_harm(self, grouping):
        wrong = np.full(100, 2**32 - 1, dtype=np.uint32)
        damaged = Grouping.from_arrays({**grouping.arrays(), "order": wrong}, 64, 100)
        rows, dead = np.arange(100, dtype=np.uint64), np.zeros(100, dtype=bool)
        gallery = Gallery(64, (Part(rows, 0, dead, damaged),))
        query = Codes(np.zeros((1, 8), dtype=np.uint8), 64)
        assert nearest(gallery, query, 5)[0].numbers.size == 0
        assert nearest(gallery.only(np.arange(50)), query, 5)[0].numbers.size == 0
