"""Folds: pairs to learn from and pairs to score, none of them a query."""

from dataclasses import replace

import numpy as np
import pytest

from fdch.data.splits import Split, SplitSizes
from fdch.errors import DataError, LabelError
from fdch.tuning import folds
from fdch.tuning.folds import FOLDS, Folds, training_part


def test_the_training_part_has_no_query(factor_pairs):
    pairs = factor_pairs(100)
    split = Split.draw(pairs, 3, SplitSizes(query=20, train=50))
    part = training_part(pairs, split)
    assert set(part.ids) == {*split.train, *split.validation}
    assert not set(part.ids) & set(split.query)


def test_each_pair_is_held_out_once(factor_pairs):
    pairs = factor_pairs(50)
    found = [Folds(pairs, 0)[number] for number in range(FOLDS)]
    held_out = [name for fold in found for name in fold.held_out.ids]
    assert sorted(held_out) == sorted(pairs.ids)
    for fold in found:
        assert sorted([*fold.train.ids, *fold.held_out.ids]) == sorted(pairs.ids)


def test_seeds_draw_folds(factor_pairs):
    pairs = factor_pairs(50)
    first, same, other = (Folds(pairs, seed)[0].held_out.ids for seed in (0, 0, 1))
    assert list(first) == list(same) != list(other)


def test_large_parts_hold_out_enough_and_no_more(factor_pairs, monkeypatch):
    monkeypatch.setattr(folds, "MAX_HELD_OUT", 7)
    fold = Folds(factor_pairs(100), 0)[4]
    assert (len(fold.train), len(fold.held_out)) == (93, 7)


def test_few_pairs_are_refused(factor_pairs):
    with pytest.raises(DataError, match="9 training pairs are too few for 5 folds"):
        Folds(factor_pairs(9), 0)


def test_pairs_without_labels_are_refused(factor_pairs):
    pairs = factor_pairs(50)
    bare = replace(pairs, labels=np.zeros_like(pairs.labels))
    with pytest.raises(LabelError, match="none of the 50 training pairs"):
        Folds(bare, 0)
