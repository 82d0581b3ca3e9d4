"""The losses of FDCH's two stages, against finite differences in float64.

What training takes is compared with plain transcriptions of the full formulas;
networks are tables of outputs. The weights are not 1, because with weights of 1
some misprints of the paper cannot be seen.
"""

import numpy as np
import pytest
import torch

from fdch.objectives.classification import fit_label_map
from fdch.objectives.pairwise import half_products, pairwise_loss, shares_label
from fdch.objectives.quantization import binary
from fdch.training.two_stage import FusionWeights, ModalityWeights

PAIRS = 0.8
LAMBDA, ETA, GAMMA, BETA, ALPHA = 0.7, 0.3, 1.3, 0.6, 0.2
N, BITS, CLASSES = 9, 5, 4


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    Y = (rng.random((N, CLASSES)) < 0.4).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1
    values = {name: rng.standard_normal((N, BITS)) for name in "FGH"}
    values |= {name: rng.standard_normal((CLASSES, BITS)) for name in ("W1", "W2")}
    B = np.where(rng.standard_normal((N, BITS)) >= 0, 1.0, -1.0)
    return values | {"B": B, "Y": Y}


def likelihood(left, right, Y, other_Y=None):
    """Σ_ij log(1 + e^Θ) − s Θ as two loops."""
    other_Y = Y if other_Y is None else other_Y
    total = 0.0
    for x, y in zip(left, Y, strict=True):
        for x_, y_ in zip(right, other_Y, strict=True):
            theta = 0.5 * x @ x_
            total += np.logaddexp(0, theta) - float((y * y_).sum() > 0) * theta
    return total


def squares(X):
    return (X**2).sum()


def stage_two(F, G, W1, W2, toy):
    Y, B = toy["Y"], toy["B"]
    return (
        likelihood(F, G, Y)
        + GAMMA * (((B - F) ** 2).sum() + ((B - G) ** 2).sum())
        + BETA
        * (
            ((F - Y @ W1) ** 2).sum()
            + ((G - Y @ W2) ** 2).sum()
            + (W1**2).sum()
            + (W2**2).sum()
        )
        + ALPHA * ((F.sum(axis=0) ** 2).sum() + (G.sum(axis=0) ** 2).sum())
    )


def finite_differences(function, X, step=1e-6):
    gradient = np.zeros_like(X)
    for place in np.ndindex(X.shape):
        nudge = np.zeros_like(X)
        nudge[place] = step
        gradient[place] = (function(X + nudge) - function(X - nudge)) / (2 * step)
    return gradient


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def tensors(toy):
    return {name: torch.tensor(value) for name, value in toy.items()}


def batch_gradient(loss, values, rows):
    """Autograd's gradient on the rows of a batch, everything else detached."""
    batch = values[rows].clone().requires_grad_()
    loss(batch).backward()
    return batch.grad.numpy()


def divisors(reduction, batch):
    """What sums over pairs, and sums over items, are divided by."""
    return N * batch, batch if reduction == "per_term" else N * batch


def moved(table, rows):
    """Take a table's rows away from what a stage remembers of them."""
    with torch.no_grad():
        table.values[rows] += torch.linspace(-0.5, 0.8, BITS, dtype=torch.float64)
    return table.values.detach().numpy().copy()


@pytest.mark.parametrize("reduction", ["paper", "per_term"])
@pytest.mark.parametrize("rows", [[0, 3, 7], list(range(N))])
def test_stage_one_gives_a_batch_its_part_of_the_full_formula(
    toy, rows, reduction, fusion_stage
):
    stage = fusion_stage(toy, FusionWeights(LAMBDA, ETA), reduction)
    H = moved(stage.network, rows)
    over_pairs, over_items = divisors(reduction, len(rows))

    def full(H):
        pairwise = likelihood(H, H, toy["Y"]) + ETA * squares(H.sum(axis=0))
        return pairwise / over_pairs + LAMBDA * squares(toy["B"] - H) / over_items

    loss, _ = stage.loss(torch.tensor(rows))
    loss.backward()
    found = stage.network.values.grad.numpy()
    assert relative_error(found[rows], finite_differences(full, H)[rows]) < 1e-6
    # a pair with the batch stands in the formula from either side
    value = 2 * likelihood(H[rows], H, toy["Y"][rows], toy["Y"])
    value = (value + ETA * squares(H.sum(axis=0))) / over_pairs
    value += LAMBDA * squares(toy["B"][rows] - H[rows]) / over_items
    assert loss.item() == pytest.approx(value, rel=1e-12)


def test_stage_one_without_the_doubling_is_wrong(toy):
    t = tensors(toy)
    expected = finite_differences(lambda H: likelihood(H, H, toy["Y"]), toy["H"])
    S = shares_label(t["Y"], t["Y"])

    def alone(H):
        return pairwise_loss(half_products(H, t["H"]), S)

    once = batch_gradient(alone, t["H"], range(N))
    assert relative_error(once, expected) > 0.1
    assert relative_error(2 * once, expected) < 1e-6


@pytest.mark.parametrize("reduction", ["paper", "per_term"])
@pytest.mark.parametrize("side", ["F", "G"])
@pytest.mark.parametrize("rows", [[1, 2, 8], list(range(N))])
def test_stage_two_gives_a_batch_its_part_of_the_full_formula(
    toy, side, rows, reduction, modality_stage
):
    stage = modality_stage(toy, ModalityWeights(PAIRS, GAMMA, BETA, ALPHA), reduction)
    other, network, loss_of = {
        "F": ("G", stage.image_network, stage.image_loss),
        "G": ("F", stage.text_network, stage.text_loss),
    }[side]
    # maps of the outputs that the stage was made with, not of the moved ones
    W = np.linalg.solve(toy["Y"].T @ toy["Y"] + np.eye(CLASSES), toy["Y"].T @ toy[side])
    X, others, Y, B = moved(network, rows), toy[other], toy["Y"], toy["B"]
    over_pairs, over_items = divisors(reduction, len(rows))

    def part(X, batch):
        """The formula's terms of this side, those of single items in a batch."""
        chosen = X[batch]
        pairwise = PAIRS * likelihood(chosen, others, Y[batch], Y)
        items = GAMMA * squares(B[batch] - chosen)
        items += BETA * squares(chosen - Y[batch] @ W)
        balance = ALPHA * squares(X.sum(axis=0))
        return (pairwise + balance) / over_pairs + items / over_items

    loss, _ = loss_of(torch.tensor(rows))
    loss.backward()
    expected = finite_differences(lambda X: part(X, list(range(N))), X)[rows]
    assert relative_error(network.values.grad.numpy()[rows], expected) < 1e-6
    assert loss.item() == pytest.approx(part(X, rows), rel=1e-12)


@pytest.mark.parametrize("side", ["F", "G"])
def test_stage_two_in_full_is_the_printed_objective(toy, side, modality_stage):
    stage = modality_stage(toy, ModalityWeights(1.0, GAMMA, BETA, ALPHA))
    is_image = side == "F"
    network = stage.image_network if is_image else stage.text_network
    loss, _ = (stage.image_loss if is_image else stage.text_loss)(torch.arange(N))
    loss.backward()
    maps = stage.W1.numpy(), stage.W2.numpy()

    def full(X):
        values = {"F": toy["F"], "G": toy["G"], side: X}
        return stage_two(values["F"], values["G"], *maps, toy) / N**2

    expected = finite_differences(full, toy[side])
    assert relative_error(network.values.grad.numpy(), expected) < 1e-6


def test_label_map_has_zero_gradient_and_the_printed_one_has_not(toy):
    W = fit_label_map(torch.tensor(toy["Y"]), torch.tensor(toy["F"])).numpy()

    def by_map(X):
        return stage_two(toy["F"], toy["G"], X, toy["W2"], toy)

    assert np.abs(finite_differences(by_map, W)).max() < 1e-6
    assert np.abs(finite_differences(by_map, BETA * W)).max() > 1


def test_sign_is_the_best_code_of_all(toy):
    H = toy["H"][:1]
    candidates = np.array(np.meshgrid(*[[-1.0, 1.0]] * BITS)).reshape(BITS, -1).T
    costs = ((candidates - H) ** 2).sum(axis=1)
    assert np.array_equal(candidates[costs.argmin()], binary(torch.tensor(H))[0])


def test_zero_output_becomes_plus_one():
    assert binary(torch.tensor([[0.0, -0.0, -1e-9]])).tolist() == [[1, 1, -1]]


def test_pairwise_loss_stays_finite_for_large_outputs():
    F = torch.full((1, 4), 1e4)
    assert torch.isfinite(pairwise_loss(half_products(F, -F), torch.ones(1, 1)))


def test_similarity_is_one_where_a_label_is_shared():
    Y = torch.tensor([[1.0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert shares_label(Y, Y).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 0, 0, 0],
    ]
