"""Modules of users as image networks."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fdch import ImageNetwork
from fdch.errors import SettingError
from fdch.networks.image import describe, load, load_frozen, names
from fdch.networks.image_network import REGISTERED


class Means(nn.Module):
    """The mean of each colour, times a weight."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(2.0))

    def forward(self, planes):
        return self.weight * planes.mean(dim=(2, 3))


@pytest.fixture(autouse=True)
def unregistered(monkeypatch):
    """Forget after a test what it registers."""
    monkeypatch.setitem(REGISTERED, "means", None)


def make(build=Means, *, size=4, width=3, **options):
    made = ImageNetwork.from_module("means", build, size=size, width=width, **options)
    return made.register()


def test_names_of_packaged_networks_are_taken():
    network = ImageNetwork.from_module("small", nn.Flatten, size=8, width=192)
    with pytest.raises(SettingError, match="'small' is an image network of fdch's own"):
        network.register()
    assert "small" not in REGISTERED


def test_pixels_are_scaled_by_mean_and_deviation():
    make(mean=(0.5, 0.25, 0.0), deviation=(0.5, 0.25, 2.0))
    pixels = torch.full((1, 4, 4, 3), 255, dtype=torch.uint8)
    found = load_frozen("means")(pixels)
    np.testing.assert_allclose(found, [[2 * 1, 2 * 3, 2 * 0.5]])
    assert "means" in names()
    assert (describe("means").size, describe("means").width) == (4, 3)


def test_weights_size_scaling_and_revision_distinguish_networks():
    def doubled():
        module = Means()
        nn.init.constant_(module.weight, 4)
        return module

    changes: list[dict[str, Any]] = [
        {},
        {"size": 5},
        {"mean": (0.0, 0.0, 0.0)},
        {"revision": "2"},
        {"build": doubled},
        {},
    ]
    found = []
    for options in changes:
        make(**options)
        found.append(load("means").fingerprint)
    assert found[0] == found[-1]
    assert len(set(found)) == len(found) - 1


def test_a_module_that_gives_something_else_is_refused():
    make(width=5)
    with pytest.raises(SettingError, match=r"into \(2, 3\); expected .* \(2, 5\)"):
        load("means")
    make(lambda: nn.Linear(3, 3))
    with pytest.raises(SettingError, match=r"'means' fails on pictures of 4 x 4 pix"):
        load("means")


def test_random_weights_are_not_taken_for_features():
    make(pretrained=False)
    with pytest.raises(SettingError, match=r"finetune=true"):
        load_frozen("means")
    assert load("means").width == 3


def test_a_weights_file_is_refused(tmp_path):
    make()
    with pytest.raises(SettingError, match="'means' takes no weights file"):
        load("means", tmp_path / "weights.mat")


def test_random_weights_come_from_the_seed_alone():
    def build():
        return nn.Sequential(nn.Flatten(), nn.Linear(48, 3))

    make(build)
    before = torch.random.get_rng_state()
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 1, 2)]
    one, same, other = (load("means", generator=each) for each in generators)
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_module_in_place_of_its_function_is_refused():
    with pytest.raises(SettingError, match=r"itself, Flatten\. Write lambda: module"):
        ImageNetwork.from_module("flat", nn.Flatten(), size=8, width=192)
