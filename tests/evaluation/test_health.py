import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize
from fdch.errors import DataError
from fdch.evaluation import health as module
from fdch.evaluation.health import code_health


def test_hand_written_codes_have_the_visible_health():
    health = code_health(
        binarize([[1, 1, -1], [1, -1, 1], [1, 1, -1], [1, -1, 1], [1, 1, -1]])
    )
    assert health.balance == pytest.approx((1, 0.2, -0.2))
    assert health.constant_bits == (0,)
    assert health.correlation == pytest.approx(1)  # the last bits are opposites
    entropy = -(0.6 * math.log2(0.6) + 0.4 * math.log2(0.4))
    assert health.bit_entropy == pytest.approx(2 * entropy / 3)
    assert health.code_entropy == pytest.approx(entropy)
    assert (health.distinct, health.largest_bucket, health.largest_share) == (2, 3, 0.6)


def test_every_code_once_is_perfect_health():
    codes = binarize([[a, b, c] for a in (1, -1) for b in (1, -1) for c in (1, -1)])
    health = code_health(codes)
    assert health.balance == (0, 0, 0)
    assert (health.correlation, health.bit_entropy, health.code_entropy) == (0, 1, 3)


def test_one_code_for_all_has_no_correlation_and_no_entropy():
    health = code_health(binarize(np.ones((4, 3))))
    assert health.correlation is None
    assert (health.bit_entropy, health.code_entropy) == (0, 0)
    assert "-0.0" not in json.dumps(health.to_json(), allow_nan=False)
    assert health.constant_bits == (0, 1, 2)


@given(st.integers(0, 999), st.integers(2, 40), st.integers(2, 130))
def test_health_equals_a_plain_computation(seed, items, bits):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((items, bits))
    values[rng.integers(0, items, items // 2)] = values[0]
    codes = binarize(values)
    health, signs = code_health(codes), codes.signs().astype(float)
    buckets = Counter(map(tuple, signs))
    assert health.distinct == len(buckets)
    assert health.largest_bucket == max(buckets.values())
    assert health.balance == pytest.approx(signs.mean(axis=0))
    entropy = -sum(n / items * math.log2(n / items) for n in buckets.values())
    assert health.code_entropy == pytest.approx(entropy)
    changing = signs[:, signs.std(axis=0) > 0].T
    if len(changing) > 1:
        table = np.abs(np.corrcoef(changing))
        mean = table[~np.eye(len(table), dtype=bool)].mean()
        assert health.correlation == pytest.approx(mean)


def test_blocks_do_not_change_the_answer(monkeypatch):
    codes = binarize(np.random.default_rng(0).standard_normal((100, 20)))
    whole = code_health(codes)
    monkeypatch.setattr(module, "ITEMS_PER_BLOCK", 7)
    assert code_health(codes) == whole


def test_no_codes_are_refused():
    with pytest.raises(DataError, match="no codes"):
        code_health(binarize(np.ones((1, 8)))[:0])
