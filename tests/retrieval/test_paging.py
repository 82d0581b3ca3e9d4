"""Pages together are the long answer, in every order and with everything left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.vector_model import give_vectors

from fdch.methods.scm_seq import SCMSeq
from fdch.retrieval.candidates import BIT_STAGES, VECTOR_STAGES, Stages
from fdch.retrieval.index import Index
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
        few = Stages(3, 60, joins_ties=True)
        patch.setattr("fdch.retrieval.candidates.VECTOR_STAGES", few)
        patch.setattr("fdch.retrieval.candidates.BIT_STAGES", Stages(3, 30))
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


def take(far):
    """Give what the first candidates are ordered by."""
    return lambda count: far[:count]


def test_an_order_by_stages_holds_all_candidates_once():
    rng = np.random.default_rng(0)
    distances = np.sort(rng.integers(0, 9, 300)).astype(np.uint16)
    far = rng.random(300).astype(np.float32)
    stages = Stages(5, 50, joins_ties=True)
    whole = stages.order(distances, take(far))
    assert sorted(whole.tolist()) == list(range(300))
    assert set(whole[:5]) <= set(np.flatnonzero(distances <= distances[49]))
    for wanted in (5, 10, 20):
        final, limit = stages.cover(wanted)
        end = int(np.searchsorted(distances, distances[limit - 1], "right"))
        np.testing.assert_array_equal(
            stages.order(distances[:end], take(far))[:final], whole[:final]
        )


def test_the_first_results_are_the_best_of_their_candidates():
    distances = np.arange(100, dtype=np.uint16)
    far = np.arange(100, 0, -1).astype(np.float32)
    order = Stages(2, 10).order(distances, take(far))
    assert order[:4].tolist() == [9, 8, 19, 18]
    assert Stages(2, 10, extra=1).order(distances, take(far))[:3].tolist() == [10, 9, 8]
    assert Stages(2, 10, most=12).order(distances, take(far))[:5].tolist()[2:4] == [
        11,
        10,
    ]


def test_no_candidates_have_an_order():
    empty = np.empty(0, np.uint16)
    assert Stages(2, 10).order(empty, take(empty)).tolist() == []


def test_a_page_beyond_the_last_result_is_empty(searchers):
    assert len(searchers["codes"].by_text("w0-1", k=10, offset=500)) == 0


def test_re_ranking_looks_at_more_candidates_than_results():
    assert BIT_STAGES.cover(5) == (10, 100)
    assert BIT_STAGES.cover(50) == (80, 800)
    assert VECTOR_STAGES.cover(5) == (25, 500)
    assert VECTOR_STAGES.cover(50) == (50, 1000)
