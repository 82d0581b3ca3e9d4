"""Probabilities that mean what they say and never rise with the distance."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.vector_model import order_numbers

from fdch.codes import binarize
from fdch.data.word_weights import MATCH_WEIGHT, SURE_WEIGHT, weigh_words
from fdch.errors import DataError
from fdch.evaluation import Coded
from fdch.evaluation.calibration import fitting
from fdch.evaluation.calibration.fitting import (
    MIN_PAIRS,
    EncodedSides,
    fit_calibration,
    fit_model,
    match_words,
)
from fdch.evaluation.calibration.model import (
    FUSED,
    SCORES,
    WEIGHTED,
    Calibration,
    Model,
    QueryFacts,
    sigmoid,
)
from fdch.evaluation.calibration.reliability import check_probabilities

BITS = 24


def drawn_labels(items, seed):
    random = np.random.default_rng(seed)
    labels = (random.random((items, 5)) < 0.15).astype(np.uint8)
    labels[np.arange(items), random.integers(0, 5, items)] = 1
    return labels


def encode(items, seed, noise=1.5):
    """Outputs that know the labels, the better the larger, or the more words."""
    random = np.random.default_rng(seed)
    labels = drawn_labels(items, seed)
    meaning = labels @ np.random.default_rng(5).normal(size=(labels.shape[1], BITS))
    size, words = random.uniform(0.2, 1.5, items), random.integers(1, 9, items)
    noises = noise * random.normal(size=(3, *meaning.shape))
    texts = meaning * (words / 5)[:, None] + noises[1]
    outputs = {
        "image": meaning * size[:, None] + noises[0],
        "text": texts / np.abs(texts).mean(axis=1, keepdims=True),
        "pair": meaning + noises[2] / 2,
    }
    return EncodedSides(outputs, words, labels)


def join(*parts):
    outputs = {
        kind: np.concatenate([part.outputs[kind] for part in parts])
        for kind in parts[0].outputs
    }
    words, labels = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("words", "labels")
    )
    return EncodedSides(outputs, words, labels)


def measure(found, query_kind, kind, items):
    """Search items with new pairs; give stated and true of the first ten."""
    gallery = Coded(binarize(items.outputs[kind]), items.labels)
    kinds = [kind] * len(items)
    held = check_probabilities(found, encode(400, 11), query_kind, gallery, kinds)
    assert held is not None
    return held


@pytest.fixture(scope="module")
def training():
    return encode(600, 2, noise=1.0)  # trained codes are better than new ones


@pytest.fixture(scope="module")
def fitted(training):
    found = fit_calibration(encode(300, 1), training, trained=600)
    assert found is not None
    return found


@pytest.mark.parametrize("others", [0, 2400])
@pytest.mark.parametrize(("query_kind", "kind"), [("image", "pair"), ("text", "image")])
def test_first_results_hold_in_galleries_of_any_size(
    fitted, training, query_kind, kind, others
):
    held = measure(fitted, query_kind, kind, join(training, encode(others, 12)))
    assert abs(held.gap) < 0.04
    assert held.error < 0.06


def order(sides):
    """Add vectors that reveal the labels, and orders that follow them."""
    vectors = np.where(sides.labels > 0, 3, -1).astype(np.int8)
    weights = np.concatenate([np.zeros((len(sides), BITS)), vectors], axis=1)
    made = order_numbers(weights, BITS)
    kinds = [*sides.outputs]
    return replace(
        sides, orders=dict.fromkeys(kinds, made), vectors=dict.fromkeys(kinds, vectors)
    )


def test_first_results_hold_in_a_methods_order(training):
    """Ordered, far more of the first ten are relevant than their distances say."""
    by_codes = fit_calibration(encode(300, 1), training, trained=600)
    ordered = fit_calibration(order(encode(300, 1)), order(training), trained=600)
    items, queries = order(training), order(encode(400, 11))
    codes = binarize(items.outputs["image"])
    gallery = Coded(codes, items.labels, vectors=items.vectors["image"])
    kinds = ["image"] * len(items)
    gaps = []
    for each in (by_codes, ordered):
        assert each is not None
        held = check_probabilities(each, queries, "text", gallery, kinds)
        assert held is not None and held.true > 0.95
        gaps.append(held.gap)
    assert gaps[0] < -0.2
    assert abs(gaps[1]) < 0.04


@pytest.mark.parametrize("query_kind", ["image", "text"])
def test_only_texts_are_judged_by_their_words(query_kind):
    facts = []

    class Watching:
        def probabilities(self, query, kinds, *_, **__):
            facts.append(query)
            return [0.5] * len(kinds)

    queries, items = encode(20, 11), encode(30, 2)
    gallery = Coded(binarize(items.outputs["image"]), items.labels)
    kinds = ["image"] * len(items)
    check_probabilities(Watching(), queries, query_kind, gallery, kinds)  # type: ignore[arg-type]
    expected = queries.words.tolist() if query_kind == "text" else [None] * 20
    assert [each.words for each in facts] == expected


def test_few_held_out_pairs_are_enough_with_the_training_pairs():
    items = encode(150, 2)
    found = [fit_calibration(encode(15, s), items, trained=150) for s in range(5)]
    held = [measure(each, "image", "pair", items) for each in found]
    assert abs(np.mean([each.gap for each in held])) < 0.1
    assert np.mean([each.stated for each in held]) > 0.65  # a random item: about .35


def test_unsure_outputs_and_few_words_make_results_less_probable(fitted):
    def first(query):
        return fitted.probabilities(query, ["pair"], [6], 600)[0]

    sure, unsure = (QueryFacts("image", np.full(BITS, size)) for size in (2.0, 1.2))
    assert first(sure) > first(unsure) + 0.05
    many, few = (QueryFacts("text", np.ones(BITS), words) for words in (8, 1))
    assert first(many) > first(few) + 0.05


@pytest.mark.parametrize("score", SCORES)
def test_probabilities_never_rise_with_the_score(fitted, score):
    scores = np.linspace(0, BITS, 40)
    for size in (0.001, 0.1, 1.0, 1000.0):
        query = QueryFacts("image", np.full(BITS, size))
        said = fitted.probabilities(query, ["text"] * 40, scores, 10**9, score)
        assert np.all(np.diff(said) <= 0)
        assert 0 < said[-1] < said[0] < 1


def test_words_of_a_query_match_as_in_a_plain_loop():
    random = np.random.default_rng(0)
    queries, items = random.random((3, 9)) < 0.4, random.random((20, 9)) < 0.2
    items[:, 0] = True  # stands everywhere
    found = match_words(
        *(csr_array(each.astype(np.float32)) for each in (queries, items))
    )
    for query, row in zip(queries, found, strict=True):
        words = np.flatnonzero(query)
        weights = weigh_words(items[:, words].sum(axis=0), len(items))
        expected = [sum(weights[item[words]]) for item in items]
        np.testing.assert_allclose(row, expected, atol=1e-6)


@pytest.mark.parametrize("by_vectors", [False, True])
def test_results_that_match_words_are_as_probable_as_said(training, by_vectors):
    def hold(sides, seed):
        """Let texts hold a word for each label, mostly."""
        random = np.random.default_rng(seed)
        words = sides.labels * (random.random(sides.labels.shape) < 0.6)
        held = replace(sides, held=csr_array(words.astype(np.float32)))
        return order(held) if by_vectors else held

    found = fit_calibration(hold(encode(400, 1), 1), hold(training, 2), trained=2000)
    assert found is not None
    assert found.knows("text", FUSED) and not found.knows("image", FUSED)
    queries, items = hold(encode(300, 11), 11), hold(encode(1000, 12), 12)
    assert queries.held is not None and items.held is not None
    plain = SCORES["plain"](queries.outputs["text"], items.outputs["pair"])
    shares = match_words(queries.held, items.held)
    ranked = plain.astype(np.float64)
    if by_vectors:
        scores = queries.vectors["text"].astype(np.int64) @ items.vectors["pair"].T
        for row, ordered in enumerate(np.argsort(-scores, axis=1, kind="stable")):
            ties = np.linspace(0, 1e-6, len(ordered))  # stay in the order of vectors
            ranked[row, ordered] = np.sort(plain[row]) + ties
    fused = ranked - MATCH_WEIGHT * BITS * shares
    sure = plain - SURE_WEIGHT * BITS * shares
    relevant = queries.labels @ items.labels.T > 0
    said: list[float | None] = []
    true: list[bool] = []
    of_codes: list[bool] = []
    for row in range(len(queries)):
        first = np.argsort(fused[row], kind="stable")[:10]
        facts = QueryFacts("text", queries.outputs["text"][row], queries.words[row])
        kinds = ["pair"] * 10
        said += found.probabilities(facts, kinds, sure[row][first], 1000, FUSED)
        true += relevant[row][first].tolist()
        of_codes += relevant[row][np.argsort(plain[row], kind="stable")[:10]].tolist()
    assert np.mean(true) > np.mean(of_codes) + 0.05
    assert np.mean([each or 0 for each in said]) == pytest.approx(
        np.mean(true), abs=0.05
    )


def test_equally_near_results_are_fitted_in_the_order_of_vectors():
    held = order(encode(400, 1))
    outputs = {kind: np.ones_like(each) for kind, each in held.outputs.items()}
    nothing = csr_array(np.eye(len(held), dtype=np.float32))  # no word is in two texts
    found = fit_calibration(replace(held, outputs=outputs, held=nothing))
    assert found is not None
    query = QueryFacts("text", np.ones(BITS), 4)
    said = found.probabilities(query, ["pair"], np.zeros(1), 400, FUSED)[0]
    base = np.mean(held.labels @ held.labels.T > 0)
    assert said is not None and said > base + 0.3  # vectors find the labels


def test_what_was_not_fitted_has_no_probability(fitted):
    known = QueryFacts("image")
    assert fitted.probabilities(QueryFacts("code"), ["pair"], [3], 10) == [None]
    said = fitted.probabilities(known, ["pair", "code", "text"], [0, 0, 0], 10)
    assert [each is None for each in said] == [False, True, False]
    assert fitted.probabilities(known, ["pair"], [0], 10, "vector") == [None]
    assert fitted.probabilities(QueryFacts("pair"), ["pair"], [0], 10, "weighted") == [
        None
    ]
    assert fitted.probabilities(known, [], [], 10) == []


def test_farther_results_are_fetched_while_they_may_be_probable(fitted):
    query = QueryFacts("image", np.ones(BITS))
    kinds = ("image", "text", "pair")
    for farthest in range(BITS):
        said = [
            fitted.probabilities(query, [kind] * 2, [1, farthest], 500)[1]
            for kind in kinds
        ]
        may_reach = fitted.may_reach(query, 0.6, [1, 3, farthest], 500)
        if farthest >= 3:
            assert may_reach == (max(said) >= 0.6)
    assert not fitted.may_reach(QueryFacts("code"), 0.1, [1], 500)


def test_items_that_were_trained_on_are_more_probable_at_the_same_distance(fitted):
    without = fit_calibration(encode(300, 1))
    assert without is not None
    for models, others in zip(_models(fitted), _models(without), strict=True):
        assert models.weights[-1] > 0.05
        assert others.weights[-1] == 0


def test_a_pair_does_not_find_itself():
    """All outputs are alike: what is found first is another pair, mostly wrong."""
    labels = np.eye(6, dtype=np.uint8)[np.arange(24) % 6]
    alike = EncodedSides({"image": np.ones((24, 4))}, np.ones(24), labels)
    found = fit_calibration(alike)
    assert found is not None
    [said] = found.probabilities(QueryFacts("image", np.ones(4)), ["image"], [0], 24)
    assert said == pytest.approx(3 / 23, abs=0.06)


def test_too_few_pairs_give_no_calibration():
    assert fit_calibration(encode(MIN_PAIRS - 1, 1), encode(50, 2)) is None
    apart = EncodedSides(
        {"image": np.ones((20, 4))}, np.ones(20), np.eye(20, dtype=np.uint8)
    )
    assert fit_calibration(apart) is None


def test_results_from_the_first_to_the_two_hundredth_are_learned_from():
    first_ten, later = fitting.RANKS[:10], fitting.RANKS[10:]
    assert first_ten.tolist() == list(range(10))
    assert (later[0], later[-1], len(later)) == (10, 199, 12)


def test_two_pairs_that_share_a_label_are_enough():
    labels = np.eye(MIN_PAIRS, dtype=np.uint8)
    labels[1] = labels[0]
    pairs = EncodedSides({"image": np.ones((MIN_PAIRS, 4))}, np.ones(MIN_PAIRS), labels)
    assert fit_calibration(pairs) is not None


def alike(items):
    """Pairs of two labels, whose outputs say nothing."""
    labels = np.eye(2, dtype=np.uint8)[np.arange(items) % 2]
    return EncodedSides({"image": np.ones((items, 4))}, np.ones(items), labels)


def test_the_first_thousand_held_out_pairs_are_used():
    found = fit_calibration(alike(1001), alike(20))
    assert found is not None and found.pairs == 1000


def test_the_first_ten_thousand_training_pairs_are_searched():
    whole, cut, fewer = (
        fit_calibration(alike(10), alike(items)) for items in (10_000, 10_001, 9_999)
    )
    assert whole is not None and cut is not None and fewer is not None
    assert cut.models == whole.models != fewer.models


def test_rows_taken_some_at_a_time_give_the_same(monkeypatch):
    held_out, training = encode(40, 1), encode(60, 2)
    whole = fit_calibration(held_out, training)
    monkeypatch.setattr(fitting, "ROWS_AT_A_TIME", 7)
    parts = fit_calibration(held_out, training)
    assert whole is not None and parts is not None
    assert _models(whole, ["plain"]) == _models(parts, ["plain"])
    for one, other in zip(
        _models(whole, [WEIGHTED]), _models(parts, [WEIGHTED]), strict=True
    ):
        # products of fewer rows round differently: of items that are almost equally
        # near, another one may be among these some 1,000 results
        np.testing.assert_allclose(one.weights, other.weights, atol=0.02)


def _models(found, names=(*SCORES, FUSED)):
    return [
        scores[name]
        for kinds in found.models.values()
        for scores in kinds.values()
        for name in names
        if name in scores
    ]


def test_the_fit_minimises_the_penalised_likelihood():
    """The objective as plain loops: no small change of a weight lowers it."""
    random = np.random.default_rng(0)
    facts = random.normal(size=(60, 5)) * [3, 1, 1, 2, 1] + [9, 0, 2, 5, 6]
    trained = (random.random(60) < 0.5).astype(float)
    relevant = (random.normal(size=60) - 0.3 * (facts[:, 0] - 9) > 0).astype(float)
    counts = random.random(60)
    table = fitting._Table(facts, trained, relevant, counts)
    model = fit_model(table)

    def objective(weights):
        total = 0.0
        for row in range(60):
            z = [(facts[row, i] - model.mean[i]) / model.scale[i] for i in range(5)]
            z = [z[0], *(min(3.0, max(-3.0, each)) for each in z[1:])]
            columns = [1.0, *z, z[0] * z[1], trained[row]]
            odds = sum(w * c for w, c in zip(weights, columns, strict=True))
            total += counts[row] * (math.log1p(math.exp(odds)) - relevant[row] * odds)
        odds = weights[0]
        total += 0.3 * (math.log1p(math.exp(odds)) - 0.5 * odds)
        return total + 0.03 / 2 * sum(w * w for w in weights[1:])

    least = objective(model.weights)
    for place in range(len(model.weights)):
        for change in (-1e-3, 1e-3):
            moved = [*model.weights]
            moved[place] += change
            assert objective(moved) > least


def test_facts_are_scaled_by_their_weighted_deviations():
    """Of values 0 and 4 v, the second three times as heavy: 3 v and sqrt(3) v."""
    sizes = [0.1, 1.0, 7.0, 0.001]
    facts = np.array([[0.0] * 4 + [5.0], [4 * size for size in sizes] + [5.0]])
    table = fitting._Table(facts, np.zeros(2), np.array([1.0, 0.0]), np.array([1, 3.0]))
    model = fit_model(table)
    assert model.mean == pytest.approx([*(3 * size for size in sizes), 5])
    expected = [*(math.sqrt(3) * size for size in sizes), 1]  # one for what is constant
    assert model.scale == pytest.approx(expected)


def test_a_prediction_as_a_plain_loop():
    random = np.random.default_rng(1)
    weights = np.array([0.5, -1.0, 0.4, 0.3, -0.2, 0.1, 0.15, 0.6])
    mean, scale = random.normal(size=5), random.random(5) + 0.5
    model = Model(tuple(mean), tuple(scale), tuple(weights))
    facts = np.column_stack(
        [random.normal(size=7), np.tile(random.normal(size=4), (7, 1))]
    )
    said = model.predict(facts, 0.25)
    for row in range(7):
        z = [(facts[row, i] - model.mean[i]) / model.scale[i] for i in range(5)]
        z = [z[0], *(min(3.0, max(-3.0, each)) for each in z[1:])]
        slope = min(weights[1] + weights[6] * z[1], weights[1] / 2)
        odds = weights[0] + slope * z[0] + weights[7] * 0.25
        odds += sum(weights[i + 1] * z[i] for i in range(1, 5))
        assert said[row] == pytest.approx(1 / (1 + math.exp(-odds)))


def test_it_returns_from_json(fitted):
    again = Calibration.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()


def test_no_probability_is_zero_or_one():
    said = sigmoid(np.array([-99.0, -1.0, 0.0, 99.0]))
    assert np.log(said / (1 - said)) == pytest.approx([-13, -1, 0, 13])


def test_the_nearest_item_counts_where_it_is_not_among_the_results(fitted):
    query = QueryFacts("image", np.ones(BITS))
    near, far = fitted.probabilities(query, ["pair"] * 2, [2, 6], 600)
    assert fitted.probabilities(query, ["pair"], [6], 600, nearest=2) == [far]
    assert fitted.probabilities(query, ["pair"], [6], 600) != [far]
    assert near > far


def test_unknown_facts_count_as_the_mean(fitted):
    model = fitted.models["text"]["pair"]["plain"]
    mean = QueryFacts("text", np.full(BITS, np.exp(model.mean[1])))
    unknown = fitted.probabilities(QueryFacts("text"), ["pair"], [4], 600)
    assert unknown == pytest.approx(fitted.probabilities(mean, ["pair"], [4], 600))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d.update(bits=0), "whole number of 1"),
        (lambda d: d["models"].update(sound={}), "has 'sound'"),
        (lambda d: d["models"]["image"]["pair"]["plain"].pop("mean"), "no 'mean'"),
        (
            lambda d: d["models"]["image"]["pair"]["plain"]["scale"].pop(),
            "got 5, 4 and 8",
        ),
        (lambda d: _set(d, "scale", 0, 0), "positive scales"),
        (lambda d: _set(d, "weights", 1, 0.1), "no positive weight"),
        (lambda d: _set(d, "weights", 0, "x"), "weights must be a number"),
    ],
)
def test_what_was_changed_is_named(fitted, change, complaint):
    document = fitted.to_json()
    change(document)
    with pytest.raises(DataError, match=complaint):
        Calibration.from_json(document)


def _set(document, name, place, value):
    document["models"]["image"]["pair"]["plain"][name][place] = value


def test_a_calibration_is_shown_in_a_few_words():
    shown = repr(Calibration(bits=8, pairs=12, trained=60, models={}))
    assert shown == "Calibration(8 bits, 12 held-out pairs)"
