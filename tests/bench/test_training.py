"""The benchmark of training: what it counts, and that both sides work alike."""

import numpy as np
import pytest
import torch

from fdch.bench.learning.public_loop import PlainCNNF, store_pictures
from fdch.bench.learning.training import (
    COMPARED_EPOCHS,
    TrainingSizes,
    training_benchmark,
)
from fdch.networks.image import load
from fdch.progress import Update

TINY = TrainingSizes(pairs=300, image_width=40, words=120, bits=8, epochs=3, repeats=2)


@pytest.fixture(scope="module")
def measured():
    reported: list[Update] = []
    return training_benchmark(TINY, "cpu", reported.append), reported


def test_both_sides_do_the_same_work(measured):
    peer = measured[0]["peer"]
    assert len(peer["losses"]["ours"]) == COMPARED_EPOCHS
    assert peer["losses"]["ours"] == pytest.approx(peer["losses"]["peer"], rel=1e-3)
    assert peer["loss_difference"] < 1e-3


def test_the_first_epoch_is_reported_separately(measured):
    for stage in (*measured[0]["stages"].values(), measured[0]["peer"]["stage 1"]):
        assert len(stage["first_epoch_seconds"]["all"]) == TINY.repeats
        seconds = stage["epoch_seconds"]["all"]
        assert stage["epochs_per_second"]["all"] == [1 / took for took in seconds]
        assert stage["pairs_per_second"]["all"] == [300 / took for took in seconds]


def test_each_turn_has_its_ratio(measured):
    result, reported = measured
    own = result["stages"]["stage 1"]["epoch_seconds"]["all"]
    other = result["peer"]["stage 1"]["epoch_seconds"]["all"]
    expected = [b / a for a, b in zip(own, other, strict=True)]
    assert result["peer"]["ratio"]["all"] == expected
    assert len(result["peer"]["ratio_of_stage_2"]["all"]) == len(expected)
    assert [update.done for update in reported] == [1, 2, 3, 4]


def test_every_stage_has_a_floor(measured):
    for stage in measured[0]["stages"].values():
        assert 0 < stage["floor_seconds"] < 10
        usual = stage["epoch_seconds"]["median"]
        assert stage["times_the_floor"] == usual / stage["floor_seconds"]
        assert stage["busy_share"] is None  # known of accelerators alone


def test_the_plain_network_is_cnnf():
    ours, plain = load("cnnf"), PlainCNNF()
    weights = zip(ours.parameters(), plain.parameters(), strict=True)
    with torch.no_grad():
        for own, theirs in weights:
            theirs.copy_(own)
        pixels = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
        expected = ours(torch.from_numpy(pixels))
        found = plain(store_pictures(pixels).float())
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.integration
def test_an_image_network_is_trained_beside_the_loop_as_published():
    tiny = TrainingSizes(10, 1, 20, bits=4, epochs=2, repeats=1, network="small")
    result = training_benchmark(tiny, "cpu")
    assert result["precision"] == "float32"
    assert "losses" not in result
    peer = result["peer"]["epoch"]["epoch_seconds"]["all"]
    for name, stage in result["stages"].items():
        took = stage["epoch_seconds"]["all"]
        assert result["peer"]["ratio"][name]["all"] == [peer[0] / took[0]]
        assert stage["floor_seconds"] > 0


@pytest.mark.integration
def test_losses_of_both_precisions_are_compared():
    tiny = TrainingSizes(
        10, 1, 20, bits=4, epochs=2, repeats=1, network="small", precision="bfloat16"
    )
    result = training_benchmark(tiny, "cpu")
    short, full = (result["losses"][name] for name in ("bfloat16", "float32"))
    for stage in ("stage 1", "stage 2"):
        assert len(short[stage]) == len(full[stage]) == COMPARED_EPOCHS
    assert 0 < result["loss_difference"] < 0.02
