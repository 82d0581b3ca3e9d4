"""Fused layers against the layers that they stand in for."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from fdch.networks.backbones.fused import can_fuse, frozen_norm
from fdch.networks.backbones.response_norm import response_norm
from fdch.networks.image import load

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
@pytest.mark.parametrize(("channels", "dtype"), KINDS)
def test_response_norm_equals_the_formula_in_float64(channels, dtype):
    def formula(planes):
        padded = functional.pad(planes.square(), (0, 0, 0, 0, 2, 2))
        total = sum(padded[:, i : i + channels] for i in range(5))
        return planes / (2 + 1e-4 * total) ** 0.75

    planes = draw(5, channels, 9, 13, dtype=dtype, scale=100)
    assert can_fuse(planes)
    compare(response_norm, formula, [planes], TOLERANCES[dtype])


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
def test_gradients_of_a_whole_network_equal_those_of_torchs_layers(monkeypatch):
    network = load("efficientnet_lite0").cuda()
    pixels = torch.randint(256, (4, 224, 224, 3), dtype=torch.uint8, device="cuda")
    results = []
    for is_fused in (True, False):
        if not is_fused:
            monkeypatch.setattr(
                "fdch.networks.backbones.efficientnet.can_fuse", lambda _: False
            )
        outputs = network(pixels)
        loss = outputs.square().sum()
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        results.append([outputs.detach(), *gradients])
    for found, expected in zip(*results, strict=True):
        assert apart(found, expected) < 1e-2
