"""The likelihood, and what is supposed of pairs without labels."""

import pytest
import torch
from torch.nn import functional

from fdch.objectives.pairwise import pairwise_loss, suppose_similarity


@pytest.mark.parametrize("shape", [(3, 5), (4, 4), (37, 11)])
@pytest.mark.parametrize("margin", [1e-3, 1.0, 30.0, 500.0])
def test_likelihood_is_that_of_softplus_at_any_margin(shape, margin):
    generator = torch.Generator().manual_seed(0)
    theta = margin * torch.randn(shape, generator=generator)
    S = torch.rand(shape, generator=generator).round()
    expected = functional.softplus(theta.double()) - S * theta.double()
    found = pairwise_loss(theta, S)
    torch.testing.assert_close(found.double(), expected.sum(), rtol=1e-6, atol=1e-6)


def test_orthogonal_outputs_stand_for_even_odds_unless_shifted():
    H = torch.tensor([[1.0, 1.0]])
    others = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    even, alike = suppose_similarity(H, others)[0].tolist()
    assert even == 0.5
    assert alike == pytest.approx(1 / (1 + torch.e**-1))
    assert suppose_similarity(H, others[:1], shift=-2.0).item() < 0.2
