"""A single query over many rows."""

import numpy as np
import pytest
from tests.index.search.lengths import lengths

from fdch.bench.clustered_codes import Source
from fdch.codes import Codes
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.lookup import nearest, within
from fdch.index.search.rows import row_words

SIZE = 8 * 17_800_000  # bits of all codes


def pairs(found):
    return list(zip(found.distances.tolist(), found.numbers.tolist(), strict=True))


def assert_is_right(gallery, query, k):
    [right] = nearest(gallery, query, k, threads=1, engine="numpy")
    [ours] = nearest(gallery, query, k, threads=1, engine="numba")
    assert pairs(ours) == pairs(right)


@pytest.mark.parametrize("bits", lengths(16, 32, 64, 128, 192, 256, 320, 512))
@pytest.mark.parametrize("removed", [0.0, 0.3])
def test_a_single_query_finds_the_same_as_numpy(bits, removed):
    number = SIZE // bits // 128 * 128 + 77  # not only whole chunks
    rng = np.random.default_rng(bits)
    source = Source("clustered", bits)
    codes, query = source.draw(number, 1), source.draw(1, 2)
    dead = rng.random(number) < removed if removed else None
    gallery = Gallery(bits, (Part(row_words(codes), 5, dead),))
    for k in (1, 100, 20_000):
        assert_is_right(gallery, query, k)
    [right] = nearest(gallery, query, 20_000, threads=1)
    for radius in (-1, 0, int(right.distances[500]), int(right.distances[-1])):
        [ours], [right] = (
            within(gallery, query, radius, threads=1, engine=engine)
            for engine in ("numba", "numpy")
        )
        assert pairs(ours) == pairs(right)


@pytest.mark.parametrize("clump", [0, 700_000, 2_000_000])
@pytest.mark.parametrize("is_spread", [False, True])
def test_thousands_of_equal_rows_are_cut_by_number(clump, is_spread):
    # Thousands of equal rows in one place, or all over, the rest from far to near.
    rng = np.random.default_rng(clump)
    steps = np.arange(2_500_000) * 56 // 2_500_000
    rows = np.uint64(2**64 - 1) >> np.sort(steps).astype(np.uint64)
    rows = rows ^ rng.integers(0, 2**6, rows.size).astype(np.uint64)
    rows[clump : clump + 9000] = 2**60
    if is_spread:
        rng.shuffle(rows)
    gallery = Gallery(64, (Part(rows, 3),))
    query = Codes(np.zeros((1, 8), dtype=np.uint8), 64)
    for k in (10, 100, 10_000):
        assert_is_right(gallery, query, k)


@pytest.mark.parametrize("number", [1 << 18, 2_500_000])
def test_an_estimate_that_is_too_low_is_noticed(number):
    # Near rows lie where the sample looks, and hardly anywhere else: the guess is far
    # too low, and that is found out.
    rng = np.random.default_rng(0)
    rows = np.full(number, 2**64 - 1, dtype=np.uint64)
    groups = min(number // 4096, 512)
    rows[:: number // groups] = 0
    rows[1:50] = rng.integers(0, 2**20, 49).astype(np.uint64)
    gallery = Gallery(64, (Part(rows, 0),))
    query = Codes(np.zeros((1, 8), dtype=np.uint8), 64)
    for k in (100, groups + 100):
        assert_is_right(gallery, query, k)
    # One query of several, neither the first nor at a place of its own.
    queries = Codes(np.repeat(np.array([[255], [240], [0]], np.uint8), 8, axis=1), 64)
    fast = nearest(gallery, queries, groups + 100, threads=1, engine="numba")
    slow = nearest(gallery, queries, groups + 100, engine="numpy")
    assert [pairs(some) for some in fast] == [pairs(some) for some in slow]


@pytest.mark.parametrize("radius", [0, 9, 30, 64])
@pytest.mark.parametrize("removed", [0.0, 0.5])
def test_a_single_query_finds_some_within_a_radius(radius, removed):
    rng = np.random.default_rng(radius)
    codes, query = (
        Source("clustered", 64).draw(n, i) for i, n in ((1, 2_200_000), (2, 1))
    )
    dead = rng.random(len(codes)) < removed if removed else None
    gallery = Gallery(64, (Part(row_words(codes), 0, dead),))
    for most in (1, 1000):
        [right] = within(gallery, query, radius, most=most, engine="numpy")
        [ours] = within(gallery, query, radius, most=most, engine="numba")
        assert pairs(ours) == pairs(right)
