"""Fused layers against the layers that they stand in for."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from fdch.networks.backbones.cnnf import CNNF
from fdch.networks.backbones.fused import activate, can_fuse, frozen_norm, max_pool
from fdch.networks.image import load
from fdch.networks.initialization import initialize

# a step of bfloat16 is 2**-8 of a value
TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 1e-2}
KINDS = [(7, torch.float32), (64, torch.float32), (256, torch.bfloat16)]


def draw(*shape, dtype=torch.float64, scale=1.0):
    values = scale * torch.randn(*shape, device="cuda", dtype=torch.float64)
    return values.to(dtype).to(memory_format=torch.channels_last).requires_grad_()


def draw_norm(channels):
    norm = nn.BatchNorm2d(channels, eps=1e-3).cuda().eval()
    assert norm.running_mean is not None and norm.running_var is not None
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2)
        norm.bias.normal_()
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    return norm


def draw_network(name):
    if name != "cnnf":
        return load(name)
    network = CNNF()
    initialize(network, "he", torch.Generator().manual_seed(0))
    return network


def apart(found, expected):
    found, expected = found.detach().double(), expected.detach().double()
    return float((found - expected).norm() / expected.norm())


def compare(fused, plain, inputs, tolerance):
    """Compare outputs and gradients; plain computes in float64."""
    found = fused(*inputs)
    weights = torch.randn_like(found)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    expected = plain(*exact)
    assert apart(found, expected) < tolerance
    grads = torch.autograd.grad((found * weights).sum(), inputs)
    others = torch.autograd.grad((expected * weights.double()).sum(), exact)
    for one, other in zip(grads, others, strict=True):
        assert apart(one, other) < tolerance


@pytest.mark.device
@pytest.mark.parametrize(("channels", "dtype"), [*KINDS, (256, torch.float32)])
@pytest.mark.parametrize("is_normalized", [True, False])
@pytest.mark.parametrize("batch", [1, 5])
def test_activation_equals_the_formula_in_float64(
    channels, dtype, is_normalized, batch
):
    def formula(planes, bias):
        planes = functional.relu(planes + bias[:, None, None])
        if not is_normalized:
            return planes
        padded = functional.pad(planes.square(), (0, 0, 0, 0, 2, 2))
        total = sum(padded[:, i : i + channels] for i in range(5))
        return planes / (2 + 1e-4 * total) ** 0.75

    planes = draw(batch, channels, 9, 13, dtype=dtype, scale=100)
    bias = (50 * torch.randn(channels, device="cuda")).requires_grad_()
    assert can_fuse(planes)

    def fused(planes, bias):
        return activate(planes, bias, is_normalized)

    compare(fused, formula, [planes, bias], TOLERANCES[dtype])


@pytest.mark.device
@pytest.mark.parametrize(("channels", "dtype"), KINDS)
@pytest.mark.parametrize("sides", [(54, 54), (27, 27), (13, 13), (8, 5), (2, 2)])
@pytest.mark.parametrize("has_ties", [True, False])
def test_max_pool_equals_torchs(channels, dtype, sides, has_ties):
    planes = draw(3, channels, *sides, dtype=dtype)
    if has_ties:
        planes = planes.detach().round().requires_grad_()
    found = max_pool(planes)
    expected = functional.max_pool2d(planes, 3, stride=2, ceil_mode=True)
    assert torch.equal(found, expected)
    weights = torch.randint_like(found, -3, 4)  # whose sums are exact
    (one,) = torch.autograd.grad(found, planes, weights)
    (other,) = torch.autograd.grad(expected, planes, weights)
    assert torch.equal(one, other)


@pytest.mark.device
@pytest.mark.parametrize(("channels", "dtype"), [*KINDS, (1152, torch.bfloat16)])
@pytest.mark.parametrize("kind", ["plain", "activated", "with residual"])
def test_frozen_norm_equals_torchs_layers_in_float64(channels, dtype, kind):
    norm = draw_norm(channels)
    planes = [draw(5, channels, 9, 13, dtype=dtype, scale=3)]
    if kind == "with residual":
        planes.append(draw(5, channels, 9, 13, dtype=dtype))
    weights = [norm.weight, norm.bias]

    def fused(weight, bias, *planes):
        norm.weight.data, norm.bias.data = weight.data, bias.data
        return frozen_norm(planes[0], norm, kind == "activated", *planes[1:])

    def plain(weight, bias, *planes):
        mean, variance = norm.running_mean.double(), norm.running_var.double()
        values = functional.batch_norm(
            planes[0], mean, variance, weight, bias, eps=norm.eps
        )
        values = functional.relu6(values) if kind == "activated" else values
        return sum(planes[1:], start=values)

    compare(fused, plain, [*weights, *planes], TOLERANCES[dtype])


@pytest.mark.device
@torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
@pytest.mark.parametrize("name", ["cnnf", "efficientnet_lite0"])
def test_gradients_of_a_whole_network_equal_those_of_torchs_layers(monkeypatch, name):
    network = draw_network(name).cuda().to(memory_format=torch.channels_last)
    pixels = torch.randint(256, (4, 224, 224, 3), dtype=torch.uint8, device="cuda")
    results = []
    for is_fused in (True, False):
        if not is_fused:
            module = "cnnf" if name == "cnnf" else "efficientnet"
            monkeypatch.setattr(
                f"fdch.networks.backbones.{module}.can_fuse", lambda _: False
            )
        outputs = network(pixels)
        loss = outputs.square().sum()
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        results.append([outputs.detach(), *gradients])
    for found, expected in zip(*results, strict=True):
        assert apart(found, expected) < 1e-2
