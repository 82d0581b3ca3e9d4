"""The benchmark of training: what it counts, and that both sides work alike."""

import pytest

from fdch.bench.learning.training import (
    COMPARED_EPOCHS,
    TrainingSizes,
    training_benchmark,
)
from fdch.progress import Update

TINY = TrainingSizes(pairs=300, image_width=40, words=120, bits=8, epochs=3, repeats=2)


@pytest.fixture(scope="module")
def measured():
    told: list[Update] = []
    return training_benchmark(TINY, "cpu", told.append), told


def test_both_sides_do_the_same_work(measured):
    peer = measured[0]["peer"]
    assert len(peer["losses"]["ours"]) == COMPARED_EPOCHS
    assert peer["losses"]["ours"] == pytest.approx(peer["losses"]["peer"], rel=1e-3)
    assert peer["loss_difference"] < 1e-3


def test_the_first_epoch_is_told_apart(measured):
    for stage in (*measured[0]["stages"].values(), measured[0]["peer"]["stage 1"]):
        assert len(stage["first_epoch_seconds"]["all"]) == TINY.repeats
        seconds = stage["epoch_seconds"]["all"]
        assert stage["epochs_per_second"]["all"] == [1 / took for took in seconds]
        assert stage["pairs_per_second"]["all"] == [300 / took for took in seconds]


def test_each_turn_has_its_ratio(measured):
    result, told = measured
    own = result["stages"]["stage 1"]["epoch_seconds"]["all"]
    other = result["peer"]["stage 1"]["epoch_seconds"]["all"]
    expected = [b / a for a, b in zip(own, other, strict=True)]
    assert result["peer"]["ratio"]["all"] == expected
    assert len(result["peer"]["ratio_of_stage_2"]["all"]) == len(expected)
    assert [update.done for update in told] == [1, 2, 3, 4, 5]


def test_every_stage_has_a_floor(measured):
    for stage in measured[0]["stages"].values():
        assert 0 < stage["floor_seconds"] < 10
        assert stage["busy_share"] is None  # known of accelerators alone
