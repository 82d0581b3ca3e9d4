"""Every network gives the same answers wherever it runs."""

import copy

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn

from fdch.data.cache import NothingKept, ResultCache
from fdch.data.pictures.images import PictureArray
from fdch.networks import features
from fdch.networks.backbones.response_norm import response_norm
from fdch.networks.features import FeatureExtractor
from fdch.networks.fusion import FusionNetwork
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.image import load
from fdch.networks.image_network import REGISTERED, ImageNetwork
from fdch.networks.text import TextNetwork, sparse_rows

TOLERANCE = 5e-3


@pytest.fixture(autouse=True)
def whole_fractions():
    """Let convolutions multiply whole float32, not ten bits of each (TF32)."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.device)])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no accelerator")
    return torch.device(request.param)


def moved(module, device):
    return copy.deepcopy(module).to(device)


def pixels(size, batch=3):
    generator = torch.Generator().manual_seed(0)
    shape = (batch, size, size, 3)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


@pytest.mark.parametrize("name", ["efficientnet_lite0", "small"])
def test_image_networks_agree(device, name):
    network = load(name)
    batch = pixels(network.size)
    with torch.no_grad():
        features = moved(network, device)(batch.to(device)).cpu()
        torch.testing.assert_close(
            features, network(batch), atol=TOLERANCE, rtol=TOLERANCE
        )


@pytest.mark.parametrize("density", [0.02, 0.5])
def test_text_networks_agree_and_train(device, density):
    rng = np.random.default_rng(0)
    words = csr_array((rng.random((6, 90)) < density).astype(np.float32))
    network = TextNetwork(90, 4, hidden=16)
    there = moved(network, device)
    batch = sparse_rows(words)
    outputs, expected = there(batch.to(device)), network(batch)
    torch.testing.assert_close(outputs.cpu(), expected, atol=TOLERANCE, rtol=TOLERANCE)
    outputs.square().sum().backward()
    expected.square().sum().backward()
    for one, other in zip(there.parameters(), network.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(
            one.grad.cpu(), other.grad, atol=TOLERANCE, rtol=TOLERANCE
        )


def test_fusion_networks_agree(device):
    network = FusionNetwork(8, 4, hidden=16)
    f, g = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    outputs = moved(network, device)(f.to(device), g.to(device))
    torch.testing.assert_close(
        outputs.cpu(), network(f, g), atol=TOLERANCE, rtol=TOLERANCE
    )


def test_response_norms_agree(device):
    planes = torch.randn(2, 9, 4, 4, generator=torch.Generator().manual_seed(0))
    outputs = response_norm(planes.to(device)).cpu()
    torch.testing.assert_close(outputs, response_norm(planes))


def test_fine_tuning_and_dropout_run_there(device):
    network = load("small")
    head = ImageHead(network.width, 2, dropout=0.5)
    module = FineTunedNetwork(network, head).to(device).train()
    module(pixels(64).to(device)).sum().backward()
    for part in module.parameters():
        assert part.grad is not None and part.grad.device.type == device.type


def test_weights_drawn_there_equal_those_drawn_here(device):
    generator = torch.Generator().manual_seed(1)
    with device:
        there = ImageHead(5, 3, generator=generator)
    here = ImageHead(5, 3, generator=torch.Generator().manual_seed(1))
    assert torch.equal(there.output.weight.cpu(), here.output.weight)


def test_frozen_features_agree(device, tmp_path):
    images = PictureArray(pixels(224, batch=2).numpy())
    here = FeatureExtractor(
        "efficientnet_lite0", device="cpu", cache=ResultCache(tmp_path / "a")
    )
    there = FeatureExtractor(
        "efficientnet_lite0", device=device, cache=ResultCache(tmp_path / "b")
    )
    np.testing.assert_allclose(
        there.features(images), here.features(images), atol=TOLERANCE, rtol=TOLERANCE
    )


def test_features_of_many_batches_are_those_of_their_pictures(device, monkeypatch):
    """Batches share memory that the device reads while threads decode the next."""
    monkeypatch.setattr(features, "ACCELERATOR_BATCH", 8)
    network = ImageNetwork.from_module("flat", nn.Flatten, size=32, width=3072)
    monkeypatch.setitem(REGISTERED, "flat", network)
    images = PictureArray(pixels(32, batch=200).numpy())
    there = FeatureExtractor("flat", device=device, cache=NothingKept())
    here = load("flat")(torch.from_numpy(images.pixels))
    np.testing.assert_allclose(there.features(images), here, rtol=1e-5, atol=1e-5)
