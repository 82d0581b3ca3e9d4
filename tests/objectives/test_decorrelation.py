"""The covariance between bits, against plain loops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fdch.objectives.decorrelation import decorrelation_loss

outputs = arrays(
    np.float64,
    st.tuples(st.integers(1, 7), st.integers(1, 5)),
    elements=st.floats(-3, 3),
)


def by_loops(F):
    """½ (‖C‖² − ‖diag C‖²) with C = (1/b) Σ (f − f̄)(f − f̄)ᵀ."""
    items, bits = F.shape
    mean = sum(F) / items
    C = np.zeros((bits, bits))
    for f in F:
        C += np.outer(f - mean, f - mean) / items
    total = 0.0
    for i in range(bits):
        for j in range(bits):
            if i != j:
                total += C[i, j] ** 2
    return total / 2


@given(outputs)
def test_it_is_the_printed_sum(F):
    assert decorrelation_loss(torch.tensor(F)).item() == pytest.approx(
        by_loops(F), rel=1e-9, abs=1e-12
    )


def test_its_gradient_is_the_formula():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((6, 4))
    batch = torch.tensor(F, requires_grad=True)
    decorrelation_loss(batch).backward()
    centred = F - F.mean(axis=0)
    C = centred.T @ centred / 6
    np.fill_diagonal(C, 0)
    assert batch.grad is not None
    assert np.allclose(batch.grad, 2 / 6 * centred @ C)


def test_bits_that_vary_apart_cost_nothing():
    F = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert decorrelation_loss(F).item() == 0


def test_equal_bits_cost_their_variance():
    F = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    assert decorrelation_loss(F).item() == 1


def test_a_constant_added_to_a_bit_changes_nothing():
    F = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    moved = F + torch.tensor([5.0, -2.0, 0.0])
    assert torch.allclose(decorrelation_loss(F), decorrelation_loss(moved), rtol=1e-4)


def test_a_single_item_costs_nothing():
    assert decorrelation_loss(torch.ones(1, 4)).item() == 0
