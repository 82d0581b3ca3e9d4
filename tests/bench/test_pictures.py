"""`fdch bench pictures`: its sides, its peers, what it refuses."""

import numpy as np
import pytest
from PIL import Image
from torch import nn

from fdch.bench.pictures import pictures_benchmark
from fdch.data.pictures.images import ImageFeatures, PictureFiles
from fdch.errors import DataError
from fdch.networks.image_network import REGISTERED, ImageNetwork


@pytest.fixture
def photos(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for number, side in enumerate((20, 40, 90, 40, 20)):
        noise = rng.integers(0, 256, (6, 9, 3), dtype=np.uint8)
        paths.append(tmp_path / f"{number}.jpg")
        Image.fromarray(noise).resize((side, side + 7)).save(paths[-1])
    return PictureFiles([*paths, None])


@pytest.fixture
def flat(monkeypatch):
    """A network whose features are the pixels."""
    network = ImageNetwork.from_module("flat", nn.Flatten, size=8, width=192)
    monkeypatch.setitem(REGISTERED, "flat", network)
    return network.name


def test_every_side_is_timed_on_the_pictures_there_are(photos, flat):
    result = pictures_benchmark(photos, 9, flat, 2, "cpu")
    assert (result["pictures"], result["device"]) == (5, "cpu")
    speeds = result["pictures_per_second"]
    assert list(speeds) == [
        "read",
        "read and hash",
        "decode, one thread",
        "decode",
        "network",
        "whole",
        "plain loop",
    ]
    assert all(len(speed["all"]) == 2 for speed in speeds.values())
    whole, plain = speeds["whole"]["all"], speeds["plain loop"]["all"]
    assert result["ratio"]["all"] == pytest.approx(np.divide(whole, plain))
    assert 0.9 < result["least_cosine"] <= 1 + 1e-6


def test_no_more_pictures_than_wanted_are_taken(photos, flat):
    assert pictures_benchmark(photos, 2, flat, 1, "cpu")["pictures"] == 2


def test_data_without_pictures_is_refused(flat):
    with pytest.raises(DataError, match="no pictures to decode"):
        pictures_benchmark(ImageFeatures(np.zeros((3, 2))), 9, flat, 1)
    with pytest.raises(DataError, match="no pictures to decode"):
        pictures_benchmark(PictureFiles([None, None]), 9, flat, 1)
