"""Every promise of a method, on every file in methods/.

The pairs are synthetic: labels set factors, and both views show them with noise.
A new file is tested as it lies there. The tests that train a method again run by
default for one method of each kind, and for all of them in the slow tier.
"""

import inspect
import random
import sys
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from fdch import methods
from fdch.codes import hamming_distances
from fdch.data.pictures.images import ImageFeatures
from fdch.data.splits import Split
from fdch.data.texts import Sentences
from fdch.errors import DataError, LabelError, NotFitted, SettingError
from fdch.evaluation import evaluate_codes
from fdch.methods import _base
from fdch.methods._base import HashMethod
from fdch.methods._settings.assignments import search_space
from fdch.methods._settings.space import Choice
from fdch.progress import Update
from fdch.runs.run import open_run, save_run
from fdch.training import batches
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import Context

# shallow with pairs, shallow with labels, deep in two stages and in three
IN_FULL = {"cmfh", "seph_km", "fdch", "fdch_plus"}
trains_again = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in IN_FULL else pytest.mark.slow)
        for name in methods.names()
    ],
    indirect=True,
)
BITS = 12  # not a multiple of 8, and more than there are labels
# sizes for few pairs; each method takes those that are among its settings
SMALL: dict[str, Any] = {
    "fusion_width": 32,
    "image_hidden": 32,
    "text_hidden": 64,
    "fusion_hidden": 48,
    "stage_one_epochs": 20,
    "stage_two_epochs": 20,
    "label_epochs": 12,
    "pair_epochs": 12,
    "pair_bytes": 2,
    "pair_width": 24,
    "epochs": 12,
    "batch_size": 50,
    "learning_rate": 2e-2,
    "final_learning_rate": 1e-3,
    "weight_decay": 0.05,
    "anchors": 60,
    "centroids": 60,
    "atoms": 48,
    "components": 20,
}
# What makes networks learn from the labels alone, be they nonsense: time and
# freedom to learn them by heart, and no pull towards a code that the sides share.
LABELS_ALONE: dict[str, Any] = {
    "stage_one_epochs": 60,
    "stage_two_epochs": 40,
    "epochs": 80,
    "quantization_weight": 0.0,
    "contrastive_weight": 0.0,
    "image_dropout": 0.0,
    "word_dropout": 0.0,
    "weight_decay": 0.0,
}
# At chance: of what a method gains over it from sound pairs, at most this share
# is left. Six labels leave some luck in how noise happens to order them.
LEFT_BY_LUCK = 0.25
# of the mean output: nearer to zero, a sum in another order may change the sign
ROUNDING = 1e-4


@dataclass(frozen=True)
class Parts:
    """The pairs of all tests here."""

    train: Any
    query: Any
    database: Any


@dataclass(frozen=True)
class Fitted:
    """A fitted method, with what was seen while it learned."""

    method: HashMethod
    settings: dict[str, Any]
    updates: list[Update]
    disturbed: bool


@pytest.fixture(scope="module")
def parts(factor_pairs):
    pairs = factor_pairs(600)
    return Parts(pairs[:200], pairs[200:300], pairs[300:])


@pytest.fixture(scope="module")
def written(sentence_pairs):
    return sentence_pairs(400)


@pytest.fixture(params=methods.names())
def name(request):
    return request.param


@pytest.fixture(scope="module")
def fit_once(parts):
    @cache
    def fit(name):
        method = small(name)
        updates: list[Update] = []
        settings, before = asdict(method), random_states()
        method.fit(parts.train, context=Context(updates.append))
        return Fitted(method, settings, updates, before != random_states())

    return fit


@pytest.fixture
def fitted(fit_once, name):
    return fit_once(name)


@pytest.fixture
def method(fitted):
    return fitted.method


def small(name, **changes):
    """Make a method with settings that suit few pairs."""
    kind = methods.load(name)
    known = {field.name for field in fields(kind) if field.init}
    wanted = {"bits": BITS, **SMALL, **changes}
    return kind(**{key: value for key, value in wanted.items() if key in known})


def random_states():
    numbers = np.random.get_state()
    return (
        [str(part) for part in numbers],
        random.getstate(),
        torch.get_rng_state().tolist(),
    )


def encoders(method, pairs):
    """Every way to encode pairs: what gives codes, what gives outputs, of what."""
    inputs = method.inputs
    X, T = inputs.images(pairs.images, Context()), inputs.texts(pairs.texts)
    ways = [
        (method.encode_images, method.image_outputs(X), pairs.images),
        (method.encode_texts, method.text_outputs(T), pairs.texts),
    ]
    if method.about.unified:
        ways.append((method.encode_pairs, method.pair_outputs(X, T), pairs))
    return ways


def assert_same_codes(one, other, outputs):
    """Codes are equal, but for outputs that are zero within rounding."""
    differs = one.signs() != other.signs()
    assert np.all(np.abs(outputs[differs]) < ROUNDING * np.abs(outputs).mean())


def assert_same_state(one, other):
    one, other = one.state(), other.state()
    assert one.keys() == other.keys()
    for key, array in one.items():
        assert array.dtype == other[key].dtype
        assert np.array_equal(array, other[key]), key


def gain(method, parts):
    """How far mAP across the modalities lies above chance, mean of directions."""
    images = method.encode_images(parts.query.images)
    texts = method.encode_texts(parts.query.texts)
    labels = parts.query.labels, parts.database.labels
    found = [
        evaluate_codes(images, method.encode_texts(parts.database.texts), *labels),
        evaluate_codes(texts, method.encode_images(parts.database.images), *labels),
    ]
    return float(np.mean([part.map - part.chance for part in found]))


def test_it_refuses_to_encode_before_fit(name, parts):
    method = small(name)
    for use in (
        lambda: method.encode_images(parts.query.images),
        lambda: method.encode_texts(parts.query.texts),
        lambda: method.encode_pairs(parts.query),
        method.state,
    ):
        with pytest.raises(NotFitted, match="has not learned anything yet"):
            use()


def test_it_says_where_it_comes_from_and_what_its_settings_are(name):
    kind = methods.load(name)
    assert len(kind.about.paper) > 20
    assert kind.about.supervision
    documents = [inspect.getdoc(base) or "" for base in kind.__mro__]
    for field in fields(kind):
        if field.init:
            assert any(f"{field.name}: " in text for text in documents), field.name


def test_what_may_be_tuned_are_settings_and_ranges_hold_their_defaults(name):
    kind: Any = methods.load(name)
    defaults: dict[str, Any] = {each.name: each.default for each in fields(kind)}
    assert kind.search_space.keys() <= defaults.keys()
    for setting, space in search_space(kind).items():
        assert defaults[setting] in space, setting
        assert space.first is None or space.first in space, setting
        ends = space.values if isinstance(space, Choice) else (space.low, space.high)
        whole = isinstance(defaults[setting], int) and not isinstance(space, Choice)
        for value in ends:
            kind(**{setting: int(value) if whole else value}).check()


def test_settings_are_refused_when_they_are_set(name):
    kind: Any = methods.load(name)
    with pytest.raises(SettingError, match="bits must be positive; got 0"):
        kind(bits=0)
    method = kind(bits=16)
    with pytest.raises(ValueError, match=r"setting bits=1\.5: expected a whole number"):
        method.bits = 1.5
    assert method.bits == 16


def test_methods_are_equal_only_to_themselves_and_show_what_was_chosen(name):
    kind: Any = methods.load(name)
    method = kind(bits=16)
    assert method == method
    assert method != kind(bits=16)
    assert len({method, kind(bits=16)}) == 2
    assert repr(method) == f"{kind.__name__}(bits=16)"
    assert repr(kind(seed=3)) == f"{kind.__name__}(seed=3)"


@trains_again
def test_codes_have_the_requested_length(method, name, parts):
    for encode, _, given in encoders(method, parts.query):
        codes = encode(given)
        assert (len(codes), codes.bits) == (100, BITS)
    short = small(name, bits=5).fit(parts.train)
    assert short.encode_texts(parts.query.texts).bits == 5


@trains_again
def test_fit_gives_the_method_itself_and_leaves_its_settings_alone(fitted, parts):
    assert asdict(fitted.method) == fitted.settings
    again = replace(fitted.method)
    assert again.fit(parts.train) is again


def test_fit_and_encode_leave_global_random_numbers_alone(fitted, parts):
    assert not fitted.disturbed
    before = random_states()
    for encode, _, given in encoders(fitted.method, parts.query):
        encode(given)
    assert random_states() == before


def test_progress_is_reported(fitted):
    assert fitted.updates
    done: dict[str, int] = {}
    for update in fitted.updates:
        assert done.get(update.task, -1) < update.done <= update.total
        assert np.all(np.isfinite(list(update.values.values())))
        done[update.task] = update.done


def test_the_same_seed_gives_the_same_codes(method, name, parts):
    again = small(name).fit(parts.train)
    assert_same_state(again, method)
    for (one, _, given), (other, *_) in zip(
        encoders(method, parts.query), encoders(again, parts.query), strict=True
    ):
        assert one(given) == other(given)


@trains_again
def test_another_seed_gives_other_codes_where_there_is_chance(method, name, parts):
    other = small(name, seed=1).fit(parts.train)
    same = method.encode_images(parts.query.images) == other.encode_images(
        parts.query.images
    )
    bases = [base for base in type(method).__mro__ if base not in HashMethod.__mro__]
    sources = [inspect.getsource(sys.modules[base.__module__]) for base in bases]
    assert same == all("self.seed" not in source for source in sources)


@trains_again
def test_fit_forgets_an_earlier_fit(method, name, parts):
    again = small(name).fit(parts.database[:120]).fit(parts.train)
    assert_same_state(again, method)


def test_state_comes_back_from_disk_bit_for_bit(method, name, parts, tmp_path):
    save_run(tmp_path / "run", method, Split.draw(parts.train))
    opened = open_run(tmp_path / "run").method
    assert type(opened) is type(method)
    assert_same_state(opened, method)
    for (one, _, given), (other, *_) in zip(
        encoders(method, parts.query), encoders(opened, parts.query), strict=True
    ):
        assert one(given) == other(given)


def test_what_orders_candidates_comes_back_from_disk(method, name, parts, tmp_path):
    if method.ordering is None:
        pytest.skip("ranks by the distance of codes alone")
    save_run(tmp_path / "run", method, Split.draw(parts.train))
    opened = open_run(tmp_path / "run").method
    X = method.inputs.images(parts.query.images, Context())
    T = method.inputs.texts(parts.query.texts)
    one, other = method.ordering, opened.ordering
    assert other is not None
    for vectors, again in (
        (one.image_vectors(X), other.image_vectors(X)),
        (one.text_vectors(T), other.text_vectors(T)),
        (one.pair_vectors(X, T), other.pair_vectors(X, T)),
    ):
        assert vectors.dtype == np.int8 and vectors.shape == (len(X), one.bytes)
        assert (vectors == again).all()
    for order, restored in (
        (one.weigh_images(X), other.weigh_images(X)),
        (one.weigh_texts(T), other.weigh_texts(T)),
    ):
        assert order.weights.shape == (len(X), method.bits)
        assert sum(len(part.books) for part in order.parts) == one.bytes
        codes, vectors = method.encode_images(X), one.image_vectors(X)
        np.testing.assert_allclose(
            order.score(codes, vectors),
            restored.score(codes, vectors),
            rtol=1e-5,
            atol=1e-5,
        )


class Stop(Exception):
    """The user's interruption."""


@trains_again
def test_interrupted_training_resumes_to_the_same_state(fitted, name, parts, tmp_path):
    def stop(update):
        if len(seen) >= len(fitted.updates) // 2:
            raise Stop
        seen.append(update)

    seen: list[Update] = []
    kept = Checkpoints(tmp_path / "kept", "task", seconds=0)
    with pytest.raises(Stop):
        small(name).fit(parts.train, context=Context(stop, checkpoints=kept))
    resumed = small(name).fit(parts.train, context=Context(checkpoints=kept))
    assert_same_state(resumed, fitted.method)


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_codes_do_not_depend_on_the_size_of_parts(method, parts, rows, monkeypatch):
    whole = [encode(given) for encode, _, given in encoders(method, parts.query)]
    monkeypatch.setattr(_base, "ROWS_AT_A_TIME", rows)
    monkeypatch.setattr(batches, "FEATURES_AT_ONCE", max(1, rows // 2))
    for before, (encode, outputs, given) in zip(
        whole, encoders(method, parts.query), strict=True
    ):
        assert_same_codes(encode(given), before, outputs)


@trains_again
def test_static_features_are_learned_from_and_come_back(name, written, tmp_path):
    train, query, database = written[:200], written[200:260], written[260:400]
    method = small(name, text_features="words+static").fit(train)
    assert method.inputs.text_width == 90 + method.inputs.static_width
    assert gain(method, Parts(train, query, database)) > 0.1
    save_run(tmp_path / "run", method)
    opened = open_run(tmp_path / "run").method
    assert_same_state(opened, method)
    # of unknown words, which would all be alike without static features
    texts = Sentences(["zebra", "umbrella", "mountain lake", "football"])
    assert method.encode_texts(texts) == opened.encode_texts(texts)
    outputs = method.text_outputs(method.inputs.texts(texts))
    assert np.abs(outputs - outputs[0]).max(axis=1)[1:].min() > 0


def test_one_item_and_none_are_encoded(method, parts):
    for encode, outputs, given in encoders(method, parts.query):
        assert_same_codes(encode(given[3]), encode(given)[3], outputs[[3]])
        nothing = encode(given[:0])
        assert (len(nothing), nothing.bits) == (0, BITS)


def test_permuted_queries_have_permuted_codes_and_touch_no_others(method, parts):
    order = np.random.default_rng(0).permutation(len(parts.query))
    database = [encode(given) for encode, _, given in encoders(method, parts.database)]
    for encode, outputs, given in encoders(method, parts.query):
        assert_same_codes(encode(given[order]), encode(given)[order], outputs[order])
    for before, (encode, _, given) in zip(
        database, encoders(method, parts.database), strict=True
    ):
        assert encode(given) == before


def test_unified_codes_exist_where_the_method_says_so(method, parts):
    if method.about.unified:
        assert len(method.encode_pairs(parts.query)) == len(parts.query)
    else:
        with pytest.raises(SettingError, match="has no unified codes"):
            method.encode_pairs(parts.query)


def test_items_of_another_width_are_refused(method):
    with pytest.raises(DataError, match=r"have 3 columns; .* trained on 24"):
        method.encode_images(ImageFeatures(np.zeros((2, 3))))


def test_no_bit_is_constant_on_the_training_pairs(method, parts):
    for encode, _, given in encoders(method, parts.train):
        assert np.abs(encode(given).signs().mean(axis=0)).max() < 1


def test_like_pairs_are_closer_than_unlike_ones(method, parts):
    images = method.encode_images(parts.query.images)
    texts = method.encode_texts(parts.database.texts)
    distances = hamming_distances(images, texts)
    alike = parts.query.labels @ parts.database.labels.T > 0
    assert distances[alike].mean() < distances[~alike].mean() - 0.05 * BITS
    assert gain(method, parts) > 0.1


@trains_again
def test_labels_are_required_by_those_that_learn_from_them_alone(method, name, parts):
    classless = np.zeros((len(parts.train), 0), dtype=np.uint8)
    unlabelled = replace(parts.train, labels=classless, label_names=())
    if method.about.needs_labels:
        with pytest.raises(LabelError, match="has a label"):
            small(name).fit(unlabelled)
    elif method.about.uses_labels:
        # it learns from the pairs alone then, and codes of both sides still agree
        alone = small(name).fit(unlabelled)
        assert 0.02 < gain(alone, parts) < gain(method, parts)
    else:
        assert_same_state(small(name).fit(unlabelled), method)


@trains_again
def test_pairs_without_labels_teach_those_that_say_so(method, name, parts):
    if not method.about.uses_unlabelled:
        pytest.skip("learns from labels or from pairs alone")
    labels = parts.train.labels.copy()
    labels[40:] = 0
    few = small(name).fit(parts.train[:40])
    more = small(name).fit(replace(parts.train, labels=labels))
    assert more.trained_on == len(parts.train)
    assert gain(more, parts) > gain(few, parts)


@trains_again
def test_shuffled_labels_leave_nothing_to_supervise_with(method, name, parts):
    order = np.random.default_rng(0).permutation(len(parts.train))
    shuffled = replace(parts.train, labels=parts.train.labels[order])
    if not method.about.uses_labels:
        assert_same_state(small(name).fit(shuffled), method)
        return
    # Networks that cannot learn the nonsense still hash each pair at random, one
    # code for both its sides, and the pairing alone makes that useful. So this
    # takes away what is not the labels.
    taught = small(name, **LABELS_ALONE).fit(shuffled)
    assert gain(taught, parts) < LEFT_BY_LUCK * gain(method, parts)


@trains_again
def test_shuffled_pairing_leaves_nothing_common_to_both_sides(method, name, parts):
    # The labels stay with the images, so the texts go with neither.
    order = np.random.default_rng(0).permutation(len(parts.train))
    shuffled = replace(parts.train, texts=parts.train.texts[order])
    parted = small(name).fit(shuffled)
    assert gain(parted, parts) < LEFT_BY_LUCK * gain(method, parts)
