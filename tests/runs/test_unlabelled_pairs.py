"""Pairs without labels: learned from by those that can, left out by all others."""

from dataclasses import replace

import numpy as np
import pytest

from fdch.data.split_drawing import SplitSizes
from fdch.errors import LabelError
from fdch.runs.method_scores import evaluate_run
from fdch.runs.pipeline import train_run
from fdch.runs.run import open_run

PLUS = {"label_epochs": "2", "pair_epochs": "2", "pair_width": "12"}


@pytest.fixture
def partly(task, factor_pairs, write_features):
    """The task on data in which 100 of 240 pairs have no label."""
    pairs = factor_pairs(240)
    labels = pairs.labels.copy()
    labels[140:] = 0
    write_features(task.source, replace(pairs, labels=labels))
    return task


def test_fdch_plus_learns_from_rows_with_empty_labels(partly):
    task = replace(partly, method="fdch_plus", settings={**partly.settings, **PLUS})
    run = train_run(task)
    assert (run.facts["train"], run.facts["unlabelled"]) == (63, 100)
    opened = open_run(task.out)
    assert opened.method.trained_on == 163
    assert len(opened.split().unlabelled) == 100
    found = evaluate_run(opened)
    assert found.scores.protocol.database == 140 - len(found.query)
    assert any("100 of the" in note for note in found.database.notes)


def test_methods_that_need_labels_leave_them_out(partly):
    run = train_run(partly)
    assert (run.facts["train"], run.facts["unlabelled"]) == (63, 0)
    assert run.method.trained_on == 63


def test_probabilities_are_checked_where_some_pairs_have_no_label(
    trained, tmp_path, factor_pairs, write_features
):
    pairs = factor_pairs(100, seed=5)
    labels = pairs.labels.copy()
    labels[::3] = 0
    other = write_features(tmp_path / "other.npz", replace(pairs, labels=labels))
    assert trained.calibration is not None
    assert "unified" in evaluate_run(trained, other).reliability


def test_labels_are_hidden_from_the_method_alone(task):
    sizes = SplitSizes(query=20, train=100, labelled=30, unlabelled=40)
    settings = {**task.settings, **PLUS}
    task = replace(task, method="fdch_plus", sizes=sizes, settings=settings)
    run = train_run(task)
    assert (run.facts["train"], run.facts["unlabelled"]) == (30, 60 + 40)
    # the data has all labels, which scores need
    assert evaluate_run(run).scores.protocol.database == 220


def test_all_labels_may_be_hidden_from_the_method(task):
    sizes = SplitSizes(query=20, train=100, labelled=0)
    settings = {**task.settings, **PLUS}
    task = replace(task, method="fdch_plus", sizes=sizes, settings=settings)
    run = train_run(task)
    assert (run.facts["train"], run.facts["unlabelled"]) == (0, 90)
    assert evaluate_run(open_run(task.out)).scores.protocol.database == 220


def test_no_label_at_all_trains_fdch_plus_and_no_supervised_method(
    task, factor_pairs, write_features
):
    pairs = factor_pairs(240)
    write_features(task.source, replace(pairs, labels=np.zeros_like(pairs.labels)))
    with pytest.raises(LabelError, match="take a method that learns without labels"):
        train_run(task)
    task = replace(task, method="fdch_plus", settings={**task.settings, **PLUS})
    train_run(task)
    method = open_run(task.out).method
    codes = method.encode_pairs(pairs)
    assert len(np.unique(codes.packed, axis=0)) > 100
    with pytest.raises(LabelError, match="has a label, so nothing can be scored"):
        evaluate_run(open_run(task.out))
