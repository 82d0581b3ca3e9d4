"""The image networks by name, to train or frozen."""

import dataclasses
import importlib
import sys

import pytest
import torch
from torch import nn

from fdch import networks
from fdch.errors import DataError, MissingExtra, SettingError
from fdch.networks import image
from fdch.networks._base import FeatureNetwork
from fdch.networks.backbones.efficientnet_weights import packaged_weights
from fdch.networks.image import describe, load, load_frozen, names


def pixels(size, batch=2):
    generator = torch.Generator().manual_seed(0)
    shape = (batch, size, size, 3)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


@pytest.fixture
def tiny(monkeypatch):
    """A registered network small enough for any test."""

    class Tiny(FeatureNetwork):
        name, size, width = "tiny", 4, 3

        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm2d(3)

        def forward(self, pixels):
            return self.norm(self.planes(pixels)).mean(dim=(2, 3))

    entry = dataclasses.replace(
        describe("small"), name="tiny", size=4, width=3, build=lambda *_: Tiny()
    )
    monkeypatch.setitem(image.NETWORKS, "tiny", entry)
    return entry


def test_names_are_listed_in_order():
    lite = [f"efficientnet_lite{number}" for number in (0, 1, 2)]
    assert names() == ["cnnf", *lite, "small"]


@pytest.mark.parametrize("name", names())
def test_networks_keep_what_their_entry_says(name):
    entry = describe(name)
    network = load(name)
    assert (network.name, network.size, network.width) == (
        entry.name,
        entry.size,
        entry.width,
    )
    with torch.no_grad():
        features = network(pixels(entry.size, batch=1))
    assert features.shape == (1, entry.width)
    assert features.dtype == torch.float32
    assert entry.description.endswith(".")


def test_unknown_names_get_the_nearest_known_one():
    with pytest.raises(SettingError, match="did you mean 'efficientnet_lite"):
        load("efficientnet")
    with pytest.raises(SettingError, match=r"'qqqq'\. Known are: cnnf"):
        load("qqqq")


def test_same_generator_seed_gives_the_same_network():
    one, same, other = (
        load("small", generator=torch.Generator().manual_seed(seed)).fingerprint
        for seed in (1, 1, 2)
    )
    assert one == same != other


def test_fingerprint_distinguishes_names_and_every_weight():
    network = load("small")
    before = network.fingerprint
    assert len(bytes.fromhex(before)) == 16
    network.name = "other"
    assert network.fingerprint != before
    network.name = "small"
    assert network.fingerprint == before
    with torch.no_grad():
        next(network.parameters())[0, 0, 0, 0] += 1
    assert network.fingerprint != before


def test_fingerprint_does_not_depend_on_the_memory_layout():
    network = load("small")
    before = network.fingerprint
    network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    assert network.fingerprint == before


def test_frozen_network_keeps_the_fingerprint_of_the_published_weights():
    frozen = load_frozen("efficientnet_lite0")
    assert frozen.fingerprint == load("efficientnet_lite0").fingerprint


def test_frozen_network_has_no_gradients_and_no_training_mode(tiny, tmp_path):
    frozen = load_frozen("tiny", tmp_path)
    outer = nn.Sequential(frozen).train()
    assert not any(module.training for module in frozen.modules())
    assert not outer(pixels(4)).requires_grad
    assert torch.equal(frozen(pixels(4)), frozen(pixels(4)))


def test_frozen_features_can_feed_a_layer_that_trains():
    features = load_frozen("efficientnet_lite0")(pixels(224, batch=1))
    layer = nn.Linear(1280, 2)
    layer(features).sum().backward()
    assert layer.weight.grad is not None


def test_frozen_use_without_weights_says_where_to_get_them():
    with pytest.raises(SettingError, match=r"vgg-f.mat with --set image_weights=FILE"):
        load_frozen("cnnf")
    with pytest.raises(SettingError, match="trained along with the codes"):
        load_frozen("small")


def test_small_network_takes_no_weights_file(tmp_path):
    with pytest.raises(SettingError, match="takes no weights file"):
        load("small", tmp_path / "weights.mat")


def test_weights_may_come_from_a_file_of_the_users(tmp_path):
    state = torch.load(packaged_weights("efficientnet_lite0"), weights_only=True)
    state["_bn0.bias"] += 1
    path = tmp_path / "own.pth"
    torch.save(state, path)
    own = load("efficientnet_lite0", path)
    assert own.fingerprint != load("efficientnet_lite0").fingerprint


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    state = torch.load(packaged_weights("efficientnet_lite0"), weights_only=True)
    state["_bn1.bias"][5] = float("nan")
    path = tmp_path / "own.pth"
    torch.save(state, path)
    with pytest.raises(DataError, match=r"'head\.norm\.bias'"):
        load("efficientnet_lite0", path)


def test_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"fdch\[train\]"):
        importlib.reload(networks)
