"""Whatever the way of searching, the answers are those of a plain sort."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.search.lengths import lengths

from fdch.codes import Codes, hamming_distances
from fdch.errors import DataError, MissingExtra, SettingError
from fdch.index.search import scan, scan_numpy
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.lookup import nearest, within
from fdch.index.search.rows import row_words

ENGINES: tuple[scan.Engine, ...] = ("numba", "numpy")
BITS = lengths(*(1, 8, 13, 16, 24, 32, 33, 64, 65, 100, 128, 192, 256, 320, 384, 512))


def draw_codes(rng, number, bits, spread):
    """Draw codes around a few centres, so that there are ties and repeats."""
    centres = rng.integers(0, 2, (3, bits))
    flips = rng.random((number, bits)) < spread
    signs = centres[rng.integers(0, 3, number)] ^ flips
    return Codes(np.packbits(signs.astype(np.uint8), axis=1), bits)


def expected(gallery, codes, dead, queries, allowed):
    """Give (distance, number) of all live, allowed items, sorted, for each query."""
    numbers = np.concatenate(
        [part.first + np.arange(len(part)) for part in gallery.parts] or [[]]
    ).astype(np.int64)
    live = ~dead if allowed is None else ~dead & np.isin(numbers, allowed)
    distances = hamming_distances(queries, codes)
    return [
        sorted(zip(row[live].tolist(), numbers[live].tolist(), strict=True))
        for row in distances
    ]


def pairs(found):
    return list(zip(found.distances.tolist(), found.numbers.tolist(), strict=True))


@st.composite
def searches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bits = draw(st.sampled_from(BITS))
    sizes = draw(st.lists(st.integers(0, 300), max_size=4))
    spread = draw(st.sampled_from([0.0, 0.05, 0.5]))
    codes = draw_codes(rng, sum(sizes), bits, spread)
    queries = draw_codes(rng, draw(st.integers(0, 5)), bits, spread)
    dead = rng.random(len(codes)) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    rows, parts, start, first = row_words(codes), [], 0, 0
    for size in sizes:
        first += draw(st.integers(0, 2))
        gone = dead[start : start + size]
        parts.append(
            Part(rows[start : start + size], first, gone if dead.any() else None)
        )
        start, first = start + size, first + size
    gallery = Gallery(bits, tuple(parts))
    allowed = None
    if draw(st.booleans()):
        share = draw(st.sampled_from([0.0, 0.1, 0.9]))
        allowed = np.flatnonzero(rng.random(first + 5) < share)
    return gallery, codes, dead, queries, allowed


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("threads", [1, 2])
@given(search=searches(), k=st.sampled_from([1, 2, 10, 100, 2000]))
def test_the_nearest_are_those_of_a_sort(engine, threads, search, k):
    gallery, _, _, queries, allowed = search
    searched = gallery if allowed is None else gallery.only(allowed)
    found = nearest(searched, queries, k, threads=threads, engine=engine)
    truth = expected(*search)
    assert [pairs(some) for some in found] == [rows[:k] for rows in truth]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("threads", [1, 2])
@given(
    search=searches(),
    radius=st.integers(-1, 40),
    most=st.sampled_from([None, 1, 50]),
)
def test_all_within_a_radius_are_found(engine, threads, search, radius, most):
    gallery, _, _, queries, allowed = search
    searched = gallery if allowed is None else gallery.only(allowed)
    found = within(searched, queries, radius, most=most, threads=threads, engine=engine)
    truth = [
        [pair for pair in rows if pair[0] <= radius][:most]
        for rows in expected(*search)
    ]
    assert [pairs(some) for some in found] == truth


@pytest.mark.parametrize("bits", lengths(8, 64, 128, 192, 256, 320, 512))
@pytest.mark.parametrize("queries", [1, 40])
def test_many_rows_are_shared_between_threads(bits, queries, monkeypatch):
    monkeypatch.setattr("fdch.index.search.scan.BYTES_TO_SHARE", 1 << 16)
    rng = np.random.default_rng(bits)
    codes = draw_codes(rng, 150_000, bits, 0.3)
    batch = draw_codes(rng, queries, bits, 0.3)
    gallery = Gallery(bits, (Part(row_words(codes), 0),))
    one = nearest(gallery, batch, 20, threads=1)
    two = nearest(gallery, batch, 20, threads=2)
    slow = nearest(gallery, batch[:2], 20, engine="numpy")
    assert [pairs(some) for some in one] == [pairs(some) for some in two]
    assert [pairs(some) for some in one[:2]] == [pairs(some) for some in slow]
    radius = min(int(some.distances[-1]) for some in one)
    all_one = within(gallery, batch, radius, threads=1)
    all_two = within(gallery, batch, radius, threads=2)
    for some, others in zip(all_one, all_two, strict=True):
        assert np.array_equal(some.numbers, others.numbers)
        assert np.array_equal(some.distances, others.distances)
    assert max(map(len, (some.numbers for some in all_one))) >= 20


def test_many_results_of_many_queries_take_one_more_search(monkeypatch):
    rows = np.sort(np.arange(9000, dtype=np.uint64) % 30)
    queries = Codes(np.zeros((40, 8), dtype=np.uint8), 64)
    gallery = Gallery(64, (Part(rows, 0),))
    searched = []
    kernels = scan.load_engine("numba")
    before = kernels.rows_within

    def counted(*arguments):
        searched.append(arguments)
        before(*arguments)

    monkeypatch.setattr(kernels, "rows_within", counted)
    found = within(gallery, queries, 1, threads=1, engine="numba")
    right = [(int(row).bit_count(), i) for i, row in enumerate(rows)]
    right = sorted(pair for pair in right if pair[0] <= 1)
    assert len(right) > 256
    assert [pairs(some) for some in found] == [right] * 40
    assert len(searched) == 2


def test_maps_of_files_are_searched(tmp_path):
    rng = np.random.default_rng(0)
    codes = draw_codes(rng, 1000, 64, 0.5)
    (tmp_path / "rows").write_bytes(b"\0" * 64 + row_words(codes).tobytes())
    rows = np.memmap(tmp_path / "rows", np.uint64, "r", 64)
    found = nearest(Gallery(64, (Part(rows, 0),)), codes[5], 1)
    assert pairs(found[0]) == [(0, 5)]


def test_an_empty_gallery_has_no_answers():
    queries = Codes(np.zeros((2, 8), dtype=np.uint8), 64)
    for found in (
        nearest(Gallery(64, ()), queries, 5),
        within(Gallery(64, ()), queries, 5),
    ):
        assert [some.numbers.tolist() for some in found] == [[], []]


def test_scanned_counts_what_was_compared():
    rows = np.zeros(7, dtype=np.uint64)
    gallery, query = (
        Gallery(64, (Part(rows, 0),)),
        Codes(np.zeros((1, 8), np.uint8), 64),
    )
    assert nearest(gallery, query, 1)[0].scanned == 7
    few = Gallery(64, (Part(np.zeros(20, dtype=np.uint64), 0),)).only(np.array([1, 2]))
    assert nearest(few, query, 1)[0].scanned == 2


def test_a_gallery_counts_the_bytes_that_say_what_is_found():
    rows = np.zeros(80, dtype=np.uint64)
    plain = Gallery(64, (Part(rows, 0), Part(rows, 80, np.ones(80, dtype=np.bool_))))
    assert plain.nbytes == 80  # a flag for each row of the second part
    assert plain.only(np.arange(40)).nbytes == 80  # flags of the first part
    few = Gallery(64, (Part(rows, 0),)).only(np.array([3, 5]))
    assert few.nbytes == 2 * (8 + 8)  # numbers and codes


WARMED = """
import sys
import numpy as np
from fdch.bench.clustered_codes import Source
from fdch.index.search.buckets import Buckets
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.rows import row_words
from fdch.index.search.lookup import nearest, warm, within
from fdch.index.search.groups import Grouping

def compiled():
    return {
        f"{name}.{kernel}": len(value.signatures)
        for name, module in sys.modules.items()
        if name.startswith("fdch.index.") and name.endswith("_kernels")
        for kernel, value in vars(module).items()
        if hasattr(value, "signatures")
    }

bits = int(sys.argv[1])
codes = Source("clustered", bits).draw(40_000, 1)
rows = row_words(codes)
grouping = Grouping.build(rows, bits)
stored = grouping.rows if grouping else rows
buckets = Buckets.build(stored, bits)
warm(bits)
before = compiled()
rows.flags.writeable = stored.flags.writeable = False
dead = np.zeros(len(codes), dtype=bool)
parts = (
    Part(rows, 0),
    Part(rows, 40_000, dead),
    Part(rows, 80_000, dead, grouping, buckets),
    Part(rows, 120_000, None, None, Buckets.build(rows, bits)),
)
gallery = Gallery(bits, parts)
for queries in (codes[:1], codes[:20]):
    for searched in (
        gallery,
        gallery.only(np.arange(0, 160_000, 7)),
        gallery.only(np.arange(0, 160_000, 9)),
    ):
        for threads in (1, 2):
            nearest(searched, queries, 3, threads=threads)
            for radius in (0, 3, 20, bits):
                within(searched, queries, radius, threads=threads)
                within(searched, queries, radius, most=2, threads=threads)
assert compiled() == before, set(compiled().items()) - set(before.items())
"""


@pytest.mark.parametrize("bits", [16, 64, 128])
def test_after_warming_nothing_is_compiled(bits):
    subprocess.run([sys.executable, "-c", WARMED, str(bits)], check=True)


def test_queries_of_another_length_are_refused():
    query = Codes(np.zeros((1, 4), dtype=np.uint8), 32)
    with pytest.raises(DataError, match="32 bits, the gallery's codes 64"):
        nearest(Gallery(64, ()), query, 1)


@pytest.mark.parametrize("k", [0, -3])
def test_at_least_one_item_must_be_requested(k):
    query = Codes(np.zeros((1, 8), dtype=np.uint8), 64)
    with pytest.raises(SettingError, match=str(k)):
        nearest(Gallery(64, ()), query, k)
    with pytest.raises(SettingError, match=str(k)):
        within(Gallery(64, ()), query, 2, most=k)


def test_without_numba_numpy_searches(monkeypatch):
    monkeypatch.setitem(sys.modules, "fdch.index.search.scan_kernels", None)
    forget = scan.load_kernels.cache_clear, scan.load_engine.cache_clear
    for clear in forget:
        clear()
    try:
        assert scan.load_engine() is scan_numpy
        with pytest.raises(MissingExtra, match=r"fdch\[fast\]"):
            scan.load_engine("numba")
    finally:
        for clear in forget:
            clear()


def test_searching_needs_no_numba():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import numpy as np\n"
        "from fdch.codes import Codes\n"
        "from fdch.index.search.gallery import Gallery, Part\n"
        "from fdch.index.search.lookup import nearest, warm\n"
        "warm(64)\n"
        "gallery = Gallery(64, (Part(np.arange(5, dtype=np.uint64), 0),))\n"
        "found = nearest(gallery, Codes(np.zeros((1, 8), np.uint8), 64), 2)\n"
        "assert found[0].numbers.tolist() == [0, 1], found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


LATE = """
import sys
import numpy as np
from fdch.codes import Codes
from fdch.index.search import scan
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.lookup import nearest, within

gallery = Gallery(64, (Part(np.arange(5, dtype=np.uint64), 0),))
query = Codes(np.zeros((1, 8), np.uint8), 64)
for _ in range(3):
    assert nearest(gallery, query, 2)[0].numbers.tolist() == [0, 1]
    assert within(gallery, query, 1)[0].numbers.tolist() == [0, 1, 2, 4]
assert "numba" not in sys.modules
scan.NUMBA_WARMUP_COMPARISONS = 39
assert nearest(gallery, query, 2)[0].numbers.tolist() == [0, 1]
assert "numba" not in sys.modules
assert within(gallery, query, 1)[0].numbers.tolist() == [0, 1, 2, 4]
assert scan.KERNELS in sys.modules
"""


def test_kernels_are_loaded_after_many_comparisons():
    subprocess.run([sys.executable, "-c", LATE], check=True)


def test_an_unknown_engine_is_refused():
    with pytest.raises(SettingError, match="'fortran'"):
        scan.load_engine("fortran")
