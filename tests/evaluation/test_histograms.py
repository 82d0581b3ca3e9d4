import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import Codes, binarize, hamming_distances
from fdch.errors import DataError, LabelError, MissingExtra, SettingError
from fdch.evaluation import histograms as module
from fdch.evaluation.counting import numpy_engine, relevance
from fdch.evaluation.counting.relevance import label_words
from fdch.evaluation.histograms import (
    counting_engine,
    distance_histograms,
    engine_name,
    histogram_blocks,
)

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="no numba here")
ENGINES = ["numpy", pytest.param("numba", marks=needs_numba)]


def problem(seed, queries=5, database=40, bits=12, classes=3, density=0.4):
    rng = np.random.default_rng(seed)
    return (
        binarize(rng.standard_normal((queries, bits))),
        binarize(rng.standard_normal((database, bits))),
        (rng.random((queries, classes)) < density).astype(np.uint8),
        (rng.random((database, classes)) < density).astype(np.uint8),
    )


def slow_histograms(query_codes, database_codes, query_labels, database_labels):
    distances = hamming_distances(query_codes, database_codes)
    shape = len(query_codes), query_codes.bits + 1
    items, relevant = np.zeros(shape, int), np.zeros(shape, int)
    for i in range(shape[0]):
        for j in range(len(database_codes)):
            items[i, distances[i, j]] += 1
            if any(query_labels[i] & database_labels[j]):
                relevant[i, distances[i, j]] += 1
    return items, relevant


def slow_stable(given_problem, cutoff):
    query_codes, database_codes, query_labels, database_labels = given_problem
    distances = hamming_distances(query_codes, database_codes)
    answers = []
    for i in range(len(query_codes)):
        shares = [bool(any(query_labels[i] & row)) for row in database_labels]
        order = sorted(range(len(database_codes)), key=lambda j: distances[i, j])
        total, found = 0.0, 0
        for rank, j in enumerate(order[:cutoff], start=1):
            if shares[j]:
                found += 1
                total += found / rank
        answers.append(total / max(found, 1) if any(shares) else np.nan)
    return np.array(answers)


sizes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "queries": st.integers(1, 20),
        "database": st.integers(1, 60),
        "bits": st.integers(1, 140),
        "classes": st.integers(1, 130),
        "density": st.sampled_from([0.0, 0.02, 0.4, 1.0]),
    }
)


@pytest.mark.parametrize("engine", ENGINES)
@given(sizes)
def test_counts_equal_a_plain_loop(engine, shape):
    given_problem = problem(**shape)
    counted = distance_histograms(*given_problem, engine=engine)
    items, relevant = slow_histograms(*given_problem)
    assert np.array_equal(counted.items, items)
    assert np.array_equal(counted.relevant, relevant)
    assert counted.stable is None


def slow_graded(query_codes, database_codes, query_labels, database_labels):
    distances = hamming_distances(query_codes, database_codes)
    found: dict[tuple[int, int, int], int] = {}
    for i in range(len(query_codes)):
        for j in range(len(database_codes)):
            shared = int((query_labels[i] & database_labels[j]).sum())
            key = i, int(distances[i, j]), shared
            found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("engine", ENGINES)
@given(sizes)
def test_numbers_of_shared_labels_equal_a_plain_loop(engine, shape):
    given_problem = problem(**shape)
    counted = distance_histograms(*given_problem, engine=engine, graded=True)
    assert counted.graded is not None
    places = zip(*np.nonzero(counted.graded), strict=True)
    found = {tuple(map(int, key)): int(counted.graded[key]) for key in places}
    assert found == slow_graded(*given_problem)
    items, relevant = slow_histograms(*given_problem)
    assert np.array_equal(counted.items, items)
    assert np.array_equal(counted.relevant, relevant)


@pytest.mark.parametrize("engine", ENGINES)
def test_distances_and_grades_may_need_more_than_sixteen_bits(engine, monkeypatch):
    monkeypatch.setattr(module, "COUNTS_PER_BLOCK", 200_000)
    given_problem = problem(0, queries=4, bits=700, classes=150, density=1.0)
    assert relevance.key_type(700, 151) == np.uint32
    blocks = list(histogram_blocks(*given_problem, engine=engine, graded=True))
    assert [len(block) for block in blocks] == [1, 1, 1, 1]
    distances = hamming_distances(*given_problem[:2])
    for block, row in zip(blocks, distances, strict=True):
        assert block.graded is not None
        expected = np.bincount(row, minlength=701)
        assert np.array_equal(block.graded[0, :, 150], expected)
        assert block.graded.sum() == 40


@pytest.mark.parametrize("engine", ENGINES)
@given(sizes, st.one_of(st.none(), st.integers(1, 70)))
def test_stable_precision_equals_a_plain_loop(engine, shape, cutoff):
    given_problem = problem(**shape)
    counted = distance_histograms(
        *given_problem, engine=engine, stable=True, cutoff=cutoff
    )
    assert counted.stable is not None
    expected = slow_stable(given_problem, cutoff)
    np.testing.assert_allclose(counted.stable, expected, rtol=1e-13)


@needs_numba
@pytest.mark.parametrize("bits", [16, 64, 100])
def test_engines_give_identical_integers_over_many_blocks(monkeypatch, bits):
    monkeypatch.setattr(module, "QUERIES_PER_BLOCK", 37)
    monkeypatch.setattr(numpy_engine, "PAIRS_PER_BLOCK", 1500)
    path = "fdch.evaluation.counting.numba_engine.usable_cores"
    monkeypatch.setattr(path, lambda: 3)
    given_problem = problem(1, queries=90, database=2500, bits=bits, classes=70)
    fast, plain = (
        distance_histograms(*given_problem, engine=engine, stable=True, graded=True)
        for engine in ("numba", "numpy")
    )
    assert fast.graded is not None and plain.graded is not None
    assert np.array_equal(fast.graded, plain.graded)
    assert np.array_equal(fast.items, plain.items)
    assert np.array_equal(fast.relevant, plain.relevant)
    assert fast.stable is not None and plain.stable is not None
    np.testing.assert_allclose(fast.stable, plain.stable, rtol=1e-13)


def test_blocks_follow_the_order_of_the_queries(monkeypatch):
    monkeypatch.setattr(module, "QUERIES_PER_BLOCK", 2)
    given_problem = problem(2)
    blocks = list(histogram_blocks(*given_problem))
    assert [len(block) for block in blocks] == [2, 2, 1]
    together = np.concatenate([block.items for block in blocks])
    assert np.array_equal(together, slow_histograms(*given_problem)[0])


def test_only_counts_are_given_unless_more_is_requested():
    [block] = histogram_blocks(*problem(2))
    assert block.stable is None and block.graded is None
    [block] = histogram_blocks(*problem(2), stable=True, graded=True)
    assert block.stable is not None and block.graded is not None


def test_codes_from_a_read_only_file_are_counted():
    query_codes, database_codes, query_labels, database_labels = problem(3, bits=64)
    database_codes.packed.flags.writeable = False
    counted = distance_histograms(
        query_codes, database_codes, query_labels, database_labels
    )
    assert counted.items.sum() == 5 * 40


def test_a_label_beyond_the_first_word_is_shared():
    query_labels, database_labels = np.zeros((1, 130)), np.zeros((2, 130))
    query_labels[0, 129] = database_labels[1, 129] = database_labels[0, 65] = 1
    codes = binarize([[1.0, 1.0], [1.0, -1.0]])
    counted = distance_histograms(codes[:1], codes, query_labels, database_labels)
    assert counted.relevant.tolist() == [[0, 1, 0]]


def test_without_numba_numpy_counts(monkeypatch):
    monkeypatch.setitem(sys.modules, "fdch.evaluation.counting.numba_engine", None)
    counting_engine.cache_clear()
    try:
        assert counting_engine() is numpy_engine
        assert engine_name() == "numpy"
        with pytest.raises(MissingExtra, match=r"fdch\[fast\]"):
            counting_engine("numba")
    finally:
        counting_engine.cache_clear()


def test_numba_is_named_where_it_counts():
    expected = "numba" if find_spec("numba") else "numpy"
    assert engine_name() == expected


def test_a_query_is_counted_alone_where_no_two_fit(monkeypatch):
    monkeypatch.setattr(module, "COUNTS_PER_BLOCK", 1)
    blocks = list(histogram_blocks(*problem(2)))
    assert [len(block) for block in blocks] == [1] * 5


@pytest.mark.parametrize(
    ("bits", "blocks"),
    # 64 queries, 32,768 distances, relevant or not, in 8 bytes: 32 MB
    [(8, [1024, 1]), (32_767, [64, 1])],
)
def test_blocks_have_1024_queries_and_32_megabytes_at_most(bits, blocks):
    queries = Codes(np.zeros((sum(blocks), -(-bits // 8)), np.uint8), bits)
    labels = np.ones((len(queries), 1))
    found = histogram_blocks(queries, queries[:1], labels, labels[:1])
    assert [len(block) for block in found] == blocks


def test_the_longest_codes_are_counted_and_longer_ones_refused():
    ones = np.ones((1, 1))
    longest = Codes(np.zeros((1, 4096), np.uint8), 32_767)
    counted = distance_histograms(longest, longest, ones, ones)
    assert counted.items[0, 0] == 1
    longer = Codes(np.zeros((1, 4096), np.uint8), 32_768)
    with pytest.raises(DataError, match="32767 is the most"):
        distance_histograms(longer, longer, ones, ones)


def test_an_unknown_engine_is_refused():
    with pytest.raises(SettingError, match="'fortran'"):
        counting_engine("fortran")


def test_codes_of_other_lengths_are_refused():
    ones = np.ones((1, 1))
    with pytest.raises(DataError, match="8 bits, database codes 9"):
        distance_histograms(
            binarize(np.ones((1, 8))), binarize(np.ones((1, 9))), ones, ones
        )


def test_labels_of_other_classes_are_refused():
    codes = binarize(np.ones((1, 8)))
    with pytest.raises(LabelError, match="2 classes, database labels 3"):
        distance_histograms(codes, codes, np.ones((1, 2)), np.ones((1, 3)))


def test_labels_must_match_the_codes_row_by_row():
    codes = binarize(np.ones((2, 8)))
    with pytest.raises(DataError, match=r"2 query codes came with 1 rows"):
        distance_histograms(codes, codes, np.ones((1, 2)), np.ones((2, 2)))


def test_nothing_to_count_is_refused():
    codes = binarize(np.ones((2, 8)))
    with pytest.raises(DataError, match="no database codes"):
        distance_histograms(codes, codes[:0], np.ones((2, 2)), np.ones((0, 2)))


@pytest.mark.parametrize("cutoff", [0, -1, 2.5, "10"])
def test_a_cutoff_that_is_no_rank_is_refused(cutoff):
    with pytest.raises(SettingError, match=f"cut-off is a rank.*got {cutoff!r}"):
        distance_histograms(*problem(0), cutoff=cutoff)


@pytest.mark.parametrize("value", [2, -1, 0.5, float("nan")])
def test_labels_other_than_zero_and_one_are_refused(value):
    with pytest.raises(LabelError, match="0 or 1"):
        label_words([[0.0, value]])


def test_labels_packed_in_blocks_are_the_same(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 2, (50, 70))
    whole = label_words(labels)
    monkeypatch.setattr(relevance, "ITEMS_PER_BLOCK", 7)
    assert np.array_equal(label_words(labels), whole)
    assert whole.shape == (2, 50)
    assert np.bitwise_count(whole).sum() == labels.sum()


@pytest.mark.parametrize("shape", [(3,), (2, 0), (1, 2, 3)])
def test_labels_must_be_a_matrix_of_some_classes(shape):
    with pytest.raises(LabelError, match=re.escape(f"got shape {shape}")):
        label_words(np.zeros(shape))
