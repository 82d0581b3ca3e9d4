"""Codes and words fused into one order: against a plain loop over all items."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize, hamming_distances
from fdch.data.pairs import PairedSet
from fdch.data.word_weights import MATCH_WEIGHT, weigh_words
from fdch.errors import SettingError, UnknownWords
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.methods.scm_seq import SCMSeq
from fdch.retrieval.index import Index
from fdch.retrieval.ordering import Fusion, plan_fusion
from fdch.retrieval.params import SearchParams
from fdch.retrieval.queries import Queries
from fdch.retrieval.ranking import Ranking
from fdch.retrieval.searcher import Searcher
from fdch.runs.encoding import calibrate

BITS = 16
LETTERS = st.sampled_from(["ant", "bee", "cow", "dog", "emu", "fox"])
TEXTS = st.lists(st.lists(LETTERS, max_size=4).map(" ".join), min_size=1, max_size=15)


def draw_codes(number, seed=0):
    return binarize(np.random.default_rng(seed).standard_normal((number, BITS)))


def fill(path, texts):
    folder = CodeFolder.create(path, BITS, "a model")
    items = [
        Item(f"i{row}", text=text, columns={"even": row % 2 == 0})
        for row, text in enumerate(texts)
    ]
    folder.add(items, draw_codes(len(items)))
    return folder


def search(folder, text, params):
    queries = Queries([{"text": text}], ["text"], draw_codes(1, 9))
    fusion = plan_fusion(folder, [text], params)
    return Ranking(folder, None, queries, params, None, fusion).results()[0]


@given(TEXTS, st.lists(LETTERS, min_size=1, max_size=3, unique=True), st.data())
def test_the_order_is_that_of_a_plain_loop(tmp_path_factory, texts, words, data):
    match = data.draw(st.sampled_from(["both", "words", "codes"]))
    k = data.draw(st.integers(1, 16))
    radius = data.draw(st.sampled_from([None, 6, 9]))
    where = data.draw(st.sampled_from([None, "even=true"]))
    params = SearchParams(k, radius=radius, where=where, match=match, facets=True)
    with fill(tmp_path_factory.mktemp("fused") / "index", texts) as folder:
        if not any(texts):
            return
        found = search(folder, " ".join(words), params)
    held = [set(text.split()) for text in texts]
    holding = [sum(word in each for each in held) for word in words]
    weights = dict(zip(words, weigh_words(holding, len(texts)).tolist(), strict=True))
    shares = [sum(weights[w] for w in words if w in each) for each in held]
    distances = hamming_distances(draw_codes(1, 9), draw_codes(len(texts)))[0].tolist()

    def score(row):
        if match == "words":
            return -round(shares[row], 9)
        bonus = MATCH_WEIGHT * BITS * shares[row] if match == "both" else 0.0
        return round(distances[row] - bonus, 9)

    rows = [
        row
        for row in range(len(texts))
        if (match != "words" or shares[row] > 0)
        and (radius is None or distances[row] <= radius)
        and (where is None or row % 2 == 0)
    ]
    rows.sort(key=lambda row: (score(row), distances[row], row))
    assert found.ids == [f"i{row}" for row in rows[:k]]
    assert found.facets.items == len(rows)  # whatever k is
    if match != "codes":
        marked = [{each.word for each in result.matched} for result in found]
        counting = {word for word in words if weights[word] > 0}
        assert marked == [counting & held[row] for row in rows[:k]]


def test_words_count_little_where_others_of_the_query_stand_in_no_text(tmp_path):
    def bring_nearer(text):
        """Return by how many bits the item comes nearer that holds a word."""
        fusion = plan_fusion(folder, [text], SearchParams(20))
        assert fusion is not None
        [found] = folder.search(draw_codes(1, 9), 20, words=fusion.words)
        assert found.shares is not None
        return float(found.shares.max() * fusion.weight)

    rare, nowhere = np.log1p(19.5 / 1.5), np.log1p(20.5 / 0.5)
    share = rare / (rare + nowhere)
    with fill(tmp_path / "index", ["ant", *["bee"] * 19]) as folder:
        assert bring_nearer("ant") == MATCH_WEIGHT * BITS
        nearer = bring_nearer("ant zebra")
    assert nearer == pytest.approx(MATCH_WEIGHT * BITS * share**2)


def test_words_alone_order_though_most_of_a_query_stands_in_no_text(tmp_path):
    [distances] = hamming_distances(draw_codes(1, 9), draw_codes(60))
    nearest = np.argsort(distances).tolist()
    texts = ["cow"] * 60
    for place, row in enumerate(nearest[:30]):
        texts[row] = "ant" if place % 2 else "bee"
    texts[nearest[-1]] = "ant bee"  # the farthest
    nowhere = " ".join(f"word{n}" for n in range(30))
    with fill(tmp_path / "index", texts) as folder:
        query = f"ant bee {nowhere}"
        found = search(folder, query, SearchParams(60, match="words"))
    assert len(found) == 31 and found.ids[0] == f"i{nearest[-1]}"


def test_rare_function_words_do_not_count_beside_others(tmp_path):
    texts = ["scullers for her", "her coat", "green tea", "tea", "cup", "hat", "bag"]
    with fill(tmp_path / "index", texts) as folder:
        found = search(folder, "green for tea", SearchParams(4, match="words"))
        alone = search(folder, "for", SearchParams(4, match="words"))
    assert [each.id for each in found] == ["i2", "i3"]
    assert [each.id for each in alone] == ["i0"]


def test_what_orders_without_words_keeps_its_order_beside_them():
    fusion = Fusion([], BITS, MATCH_WEIGHT * BITS)
    distances, far = np.array([1, 2, 3, 9]), np.array([0.4, 0.1, 0.3, 0.2])

    def order(shares):
        return fusion.arrange(distances, far, np.array(shares)).tolist()

    assert order([0, 0, 0, 0]) == np.argsort(far).tolist()
    # the first has the largest distance by `far`, 9 - 4; the second has 1
    assert order([1, 0, 0, 0]) == [1, 3, 2, 0]
    assert order([0, 0, 1, 0])[0] == 2
    distances = np.array([2, 2, 2, 3])  # equally near
    assert order([0, 0, 0, 0]) == np.argsort(far).tolist()
    assert order([1, 0, 1, 0]) == [2, 0, 1, 3]


@pytest.fixture(scope="module")
def pairs(sentence_pairs):
    return sentence_pairs(300)


@pytest.fixture(scope="module")
def path(pairs, tmp_path_factory):
    fitted = SCMSeq(bits=BITS, text_features="words").fit(pairs)
    path = tmp_path_factory.mktemp("words") / "index"
    known = calibrate(fitted, pairs[:100], pairs[100:])
    with Index.create(path, fitted, calibration=known) as index:
        index.add(pairs)
        rows = PairedSet.from_arrays(
            images=pairs.images.values[:2], texts=["zebra w0-1", "w0-1"], ids=["z", "y"]
        )
        index.add(rows)
    return path


@pytest.fixture
def searcher(path):
    with Searcher(path) as searcher:
        yield searcher


def test_the_reply_says_what_was_matched(searcher, pairs):
    both = searcher.by_text("w0-1", k=5)
    assert both.query["match"] == "both"
    assert not both.notes
    assert both[0].matched
    assert all(result.probability is not None for result in both)
    codes = searcher.by_text("w0-1", k=5, match="codes")
    assert codes.query["match"] == "codes"
    assert not any(result.matched for result in codes)
    by_picture = searcher.by_image(pairs.images.values[0], k=2)
    assert by_picture.query["match"] == "codes"
    assert searcher.by_id("z", k=2).query["match"] == "codes"


def test_words_alone_are_refused_where_there_are_none(searcher, pairs):
    for search, query in (
        (searcher.by_image, pairs.images.values[0]),
        (searcher.by_id, "z"),
        (searcher.by_text, np.ones(searcher.encoder.inputs.text_width)),
    ):
        with pytest.raises(SettingError, match="words cannot be matched: only texts"):
            search(query, match="words")


def test_words_are_matched_beside_other_parts(searcher):
    found = searcher.query("w0-1", like=["z"], avoid=["w0-3"], k=5)
    assert found.query["match"] == "both"
    assert all(result.matched for result in found)
    assert searcher.query(like=["z"], unlike=["y"], k=5).query["match"] == "codes"


def test_a_word_unknown_to_the_model_is_found_in_texts(searcher):
    found, known = searcher.by_texts(["zebra", "w0-1"], k=5)
    assert found.ids == ["z"]
    assert (found[0].distance, found[0].probability) == (None, None)
    assert found.query["match"] == "words"
    assert searcher.by_text("zebra", facets=True).facets.items == 1
    assert "model knows none" in found.notes[0]
    assert known.query["match"] == "both"
    assert searcher.reads("zebra", SearchParams())
    assert not searcher.reads("zebra", SearchParams(match="codes"))
    for options in ({"match": "codes"}, {"radius": 3}, {"min_probability": 0.1}):
        with pytest.raises(UnknownWords):
            searcher.by_text("zebra", **options)
    with pytest.raises(UnknownWords):
        searcher.by_text("quagga")


def test_words_that_texts_have_are_not_named_as_unknown(searcher):
    text = "w0-1 zebras-qwertz ?!"
    both, codes = (searcher.by_text(text, match=way) for way in ("both", "codes"))
    assert both.query["unknown_words"] == ["qwertz", "?!"]
    assert codes.query["unknown_words"] == ["zebras-qwertz", "?!"]
    assert searcher.by_text("zebra").query["unknown_words"] == []
    composed = searcher.query("w0-1 zebra qwertz", like=["y"])
    assert composed.query["unknown_words"] == ["qwertz"]
    like = searcher.by_text("w0-1 zzebra")
    assert like.notes == ()  # suggested is only what the model knows


def test_an_index_without_texts_compares_codes_and_says_so(tmp_path, factor_pairs):
    pairs = factor_pairs(60)
    fitted = SCMSeq(bits=BITS).fit(pairs)
    with Index.create(tmp_path / "index", fitted) as index:
        index.add(pairs)
        searcher, vector = Searcher(index), np.ones(fitted.inputs.text_width)
        found = searcher.by_text(vector)
        assert found.query["match"] == "codes"
        assert "codes alone were compared" in found.notes[0]


def test_results_stay_as_probable_as_requested(searcher):
    every = searcher.by_text("w0-1 w1-2", k=300)
    likely = searcher.by_text("w0-1 w1-2", k=300, min_probability=0.5)
    assert 0 < len(likely) < len(every)
    wanted = [each.id for each in every if (each.probability or 0) >= 0.5]
    assert likely.ids == wanted
    bare = sorted(
        (each.distance or 0, -(each.probability or 0))
        for each in every
        if not each.matched
    )
    said = [-probability for _, probability in bare]
    assert said == sorted(said, reverse=True)  # of one kind: falls with the distance
