"""Layers that learn by oneDNN's products compute and learn what torch's do."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from fdch.networks.initialization import initialize, linear
from fdch.networks.linear import multiply


def draw(*shape, kind=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=kind).requires_grad_()


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 7, 128])
def test_products_and_gradients_are_torchs(rows, kind):
    inputs = draw(rows, 40, kind=kind), draw(9, 40, kind=kind), draw(9, kind=kind)
    weights = draw(rows, 9, kind=kind).detach()
    found, expected = (
        (product, torch.autograd.grad((product * weights).sum(), inputs))
        for product in (multiply(*inputs), functional.linear(*inputs))
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert found[0].dtype == kind


def test_float32_on_a_processor_is_multiplied_by_onednn(monkeypatch):
    seen = []
    plain = functional.linear

    def watch(values, weight, bias):
        seen.append(values)
        return plain(values, weight, bias)

    monkeypatch.setattr(functional, "linear", watch)
    multiply(draw(3, 4), draw(2, 4))
    multiply(draw(3, 4).double(), draw(2, 4).double())
    with torch.autocast("cpu", torch.bfloat16):
        multiply(draw(3, 4), draw(2, 4))
    assert [each.is_mkldnn for each in seen] == [True, False, False]


def test_without_gradients_a_layer_is_torchs_to_the_last_bit():
    ours, plain = linear(40, 9), nn.Linear(40, 9)
    initialize(ours, "torch", torch.Generator().manual_seed(0))
    plain.load_state_dict(ours.state_dict())
    values = draw(5, 40).detach()
    with torch.no_grad():
        assert torch.equal(ours(values), plain(values))
    torch.testing.assert_close(ours(values), plain(values))
