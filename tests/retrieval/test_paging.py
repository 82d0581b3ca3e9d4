"""Pages together are the long answer, in every order and with everything left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.vector_model import give_vectors

from fdch.codes import binarize, hamming_distances
from fdch.methods.scm_seq import SCMSeq
from fdch.retrieval import ordering
from fdch.retrieval.index import Index
from fdch.retrieval.ordering import Order, count_ordered
from fdch.retrieval.searcher import Searcher
from fdch.runs.encoding import calibrate

PLACES = 60


@pytest.fixture(scope="module")
def pairs(sentence_pairs):
    pairs = sentence_pairs(400)
    columns = {"half": np.arange(400) % 2}
    return replace(pairs, columns=columns)


def make_searcher(pairs, path):
    method = SCMSeq(bits=12).fit(pairs)
    with Index.create(path, method, calibration=calibrate(method, pairs[:150])) as made:
        made.add(pairs[:350])
        made.add(pairs[350:])
    return Searcher(path)


@pytest.fixture(scope="module")
def searchers(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "VECTOR_CANDIDATES", 30)
        patch.setattr(ordering, "BIT_CANDIDATES", 30)
        patch.setattr(ordering, "TIED_PLACE", 3)
        bare = make_searcher(pairs, folder / "bare")
        bare.by_text("w0-1")
        give_vectors(patch, SCMSeq)
        with make_searcher(pairs, folder / "vectors") as rich, bare:
            yield {"vectors": rich, "codes": bare, "weighted": bare}


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "where": st.sampled_from(["half=1", "label in label 1,label 2"]),
        "radius": st.integers(1, 6),
        "min_probability": st.sampled_from([0.2, 0.5, 0.8, 0.95]),
        "group": st.integers(0, 2),
    },
)


def page_through(search, k, **options):
    found = []
    for offset in range(0, PLACES, k):
        page = search(k=min(k, PLACES - offset), offset=offset, **options)
        found += page.results
    return found


@pytest.mark.parametrize("order", ["codes", "weighted", "vectors"])
@given(
    k=st.integers(3, 40),
    row=st.integers(0, 399),
    kind=st.sampled_from(["text", "image", "id", "composed"]),
    options=OPTIONS,
)
@example(k=3, row=0, kind="text", options={"where": "half=1", "min_probability": 0.8})
def test_pages_are_cut_from_one_order(searchers, pairs, order, k, row, kind, options):
    searcher, name = searchers[order], str(pairs.ids[row])
    if order == "weighted":
        kind = "text" if kind == "id" else kind
        options["rerank"] = True
    if kind == "composed":
        options.pop("min_probability", None)

    def search(**given):
        text, image = f"w0-1 {pairs.texts.values[row]}", pairs.images.values[row]
        if kind == "composed":
            parts = {"like": [name], "unlike": [str(pairs.ids[0])], "avoid": ["w1-3"]}
            parts["like"] = [] if row == 0 else parts["like"]
            return searcher.query("w0-1", image, **parts, **given)
        value = {"text": text, "image": image, "id": name}[kind]
        return getattr(searcher, f"by_{kind}")(value, **given)

    whole = search(k=PLACES, **options)
    assert page_through(search, k, **options) == list(whole.results)
    assert len(set(whole.ids)) == len(whole)
    if "radius" in options:  # all results at once have the same order
        assert search(**options)[:PLACES] == whole.results


@pytest.mark.parametrize("order", ["codes", "weighted", "vectors"])
def test_avoided_items_are_replaced_by_others_in_a_small_index(
    searchers, monkeypatch, order
):
    monkeypatch.setattr(ordering, "VECTOR_CANDIDATES", 1000)
    monkeypatch.setattr(ordering, "BIT_CANDIDATES", 1000)
    rerank = True if order == "weighted" else None

    def search(**given):
        return searchers[order].query("w0-1", avoid=["w1-3"], rerank=rerank, **given)

    assert len(search(k=PLACES)) == PLACES
    assert page_through(search, 5) == list(search(k=PLACES).results)


def test_equally_near_candidates_are_ordered_together(monkeypatch):
    monkeypatch.setattr(ordering, "VECTOR_CANDIDATES", 6)
    monkeypatch.setattr(ordering, "BIT_CANDIDATES", 4)
    monkeypatch.setattr(ordering, "TIED_PLACE", 2)
    apart, tied = np.arange(20), np.array([0, 1, 1, 1, 1, 1, 1, 1, 2, 2])
    assert count_ordered(apart, True) == 6
    assert count_ordered(apart, True, left_out=2) == 8
    assert count_ordered(apart, False) == count_ordered(tied, False) == 4
    assert count_ordered(tied, True) == 8
    assert count_ordered(tied[:5], True) == 5
    assert count_ordered(tied[:0], True) == 0
    monkeypatch.setattr(ordering, "MAX_CANDIDATES", 7)
    assert count_ordered(tied, True) == 7


def test_no_code_is_nearer_than_the_bound_of_its_bits():
    rng = np.random.default_rng(0)
    outputs = rng.standard_normal((3, 12)).astype(np.float32)
    codes, order = binarize(rng.standard_normal((500, 12))), Order(outputs)
    apart = hamming_distances(binarize(outputs), codes)
    for row in range(3):
        far = order.distances(row, codes, None)
        bounds = [order.least_beyond(row, bits) for bits in range(13)]
        assert bounds == sorted(bounds)
        assert all(far >= np.array(bounds)[apart[row]] - 1e-4)


def test_a_page_beyond_the_last_result_is_empty(searchers):
    assert len(searchers["codes"].by_text("w0-1", k=10, offset=500)) == 0
