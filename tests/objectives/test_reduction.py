"""What the summed terms are divided by."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fdch.objectives.reduction import WeightedSum


def terms(**values):
    return {
        name: (weight, torch.tensor(total)) for name, (weight, total) in values.items()
    }


def test_the_papers_sum_is_divided_by_all_pairs_of_the_batch():
    loss, reported = WeightedSum("paper", items=50)(
        10, terms(pairwise=(1.0, 1000.0)), terms(quantization=(3.0, 500.0))
    )
    assert reported["pairwise"].item() == pytest.approx(1000 / 500)
    assert reported["quantization"].item() == pytest.approx(3 * 500 / 500)
    assert loss.item() == pytest.approx(5)


def test_per_term_divides_single_items_by_the_batch_alone():
    loss, reported = WeightedSum("per_term", items=50)(
        10, terms(pairwise=(1.0, 1000.0)), terms(quantization=(3.0, 500.0))
    )
    assert reported["pairwise"].item() == pytest.approx(2)
    assert reported["quantization"].item() == pytest.approx(3 * 500 / 10)
    assert loss.item() == pytest.approx(152)


@given(
    items=st.integers(1, 10_000),
    batch=st.integers(1, 256),
    weight=st.floats(0, 10),
    sums=st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)),
)
def test_a_weight_per_term_is_n_times_that_weight_in_the_paper(
    items, batch, weight, sums
):
    pairwise = terms(pairwise=(0.7, sums[0]))
    one, _ = WeightedSum("per_term", items)(batch, pairwise, terms(q=(weight, sums[1])))
    other, _ = WeightedSum("paper", items)(
        batch, pairwise, terms(q=(weight * items, sums[1]))
    )
    assert one.item() == pytest.approx(other.item(), rel=1e-5)


def test_gradients_reach_the_loss_and_not_what_is_reported():
    total = torch.tensor(4.0, requires_grad=True)
    loss, reported = WeightedSum("paper", 2)(2, {"pairwise": (2.0, total)}, {})
    loss.backward()
    assert total.grad is not None
    assert total.grad.item() == pytest.approx(2 / 4)
    assert not reported["pairwise"].requires_grad


@pytest.mark.parametrize("reduction", ["paper", "per_term"])
def test_means_are_divided_no_further(reduction):
    _, reported = WeightedSum(reduction, items=50)(
        10, terms(pairwise=(1.0, 1.0)), {}, terms(decorrelation=(2.0, 3.0))
    )
    assert reported["decorrelation"].item() == 6


def test_a_single_kind_of_term_is_enough():
    loss, _ = WeightedSum("paper", 2)(1, {}, terms(quantization=(1.0, 6.0)))
    assert loss.item() == pytest.approx(3)
