"""Made-up pairs are like those of a network and of tags, and can be learned."""

import numpy as np
import pytest

from fdch import evaluate, methods
from fdch.bench.learning.workload import WORDS_PER_TEXT, Workload

SMALL = Workload(image_width=60, words=80)


@pytest.fixture(scope="module")
def pairs():
    return SMALL.draw(400)


def test_features_are_sparse_and_not_negative(pairs):
    values = pairs.images.values
    assert values.dtype == np.float32
    assert values.min() == 0
    assert 0.1 < (values > 0).mean() < 0.5


def test_texts_hold_a_few_words_some_far_more_frequent(pairs):
    words = pairs.texts.matrix
    assert set(words.sum(axis=1)) == {WORDS_PER_TEXT}
    counts = np.sort(words.sum(axis=0))
    assert counts[-1] > 5 * counts[len(counts) // 2]


def test_every_pair_has_a_label(pairs):
    assert pairs.labels.any(axis=1).all()


def test_a_method_learns_from_them(pairs):
    method = methods.load("scm_seq")(bits=16).fit(pairs)
    others = SMALL.draw(650)[400:]
    scores = evaluate(method, others[:50], others[50:])
    for part in scores.scores["modality"].values():
        assert part.map > part.chance + 0.05
