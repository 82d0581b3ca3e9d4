"""The arithmetic of a trained image network."""

import pytest
import torch

from fdch.networks.device import choose_precision, quick_products
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.image import load


@pytest.mark.parametrize(
    ("given", "device", "expected"),
    [
        ("auto", "cpu", "float32"),
        ("auto", "cuda", "bfloat16"),
        ("float32", "cuda", "float32"),
        ("bfloat16", "cpu", "bfloat16"),
    ],
)
def test_only_what_is_left_open_depends_on_the_device(given, device, expected):
    assert choose_precision(given, torch.device(device)) == expected


def learn(precision):
    """Give outputs and gradients of a small network."""
    network = load("small")
    head = ImageHead(network.width, 4)
    module = FineTunedNetwork(network, head, precision).train()
    generator = torch.Generator().manual_seed(0)
    shape = (3, network.size, network.size, 3)
    pixels = torch.randint(256, shape, generator=generator, dtype=torch.uint8)
    outputs = module(pixels)
    outputs.square().sum().backward()
    gradients = [weight.grad for weight in module.parameters()]
    return [outputs.detach(), *gradients]


def test_bfloat16_changes_the_rounding_alone():
    exact, left_open, short = (learn(p) for p in ("float32", "auto", "bfloat16"))
    assert all(map(torch.equal, exact, left_open))
    assert not torch.equal(exact[0], short[0])
    assert (exact[0] - short[0]).norm() < 0.02 * exact[0].norm()
    for one, other in zip(exact, short, strict=True):
        assert other.dtype == torch.float32
        assert (one - other).norm() < 0.2 * one.norm()


@pytest.mark.parametrize(
    ("precision", "device", "expected"),
    [
        ("auto", "cuda", "high"),
        ("bfloat16", "cuda", "high"),
        ("float32", "cuda", "highest"),
        ("auto", "cpu", "highest"),
    ],
)
def test_products_are_rounded_on_accelerators_alone(precision, device, expected):
    with quick_products(precision, torch.device(device)):
        assert torch.get_float32_matmul_precision() == expected
    assert torch.get_float32_matmul_precision() == "highest"
