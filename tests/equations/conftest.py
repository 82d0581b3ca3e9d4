"""What the equation tests share."""

import numpy as np
import pytest
import torch
from torch import nn

from fdch.objectives.reduction import WeightedSum
from fdch.training.alternating import AlternatingStage
from fdch.training.batches import TrainingPairs
from fdch.training.joint import JointStage
from fdch.training.two_stage import FusionStage, ModalityStage


@pytest.fixture(scope="session")
def numerical_gradient():
    """Central differences of a function of one array, entry by entry."""

    def estimate(function, point, step=1e-6):
        gradient = np.zeros_like(point)
        for index in np.ndindex(point.shape):
            shift = np.zeros_like(point)
            shift[index] = step
            gradient[index] = function(point + shift) - function(point - shift)
        return gradient / (2 * step)

    return estimate


@pytest.fixture
def toy():
    """Outputs F and G of nine pairs with their labels and codes, in float64."""
    rng = np.random.default_rng(0)
    Y = (rng.random((9, 4)) < 0.4).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1
    F, G = rng.standard_normal((2, 9, 5))
    return {"F": F, "G": G, "Y": Y, "B": np.where(F + G >= 0, 1.0, -1.0)}


@pytest.fixture(scope="session")
def table_stage():
    """A maker of stages whose networks are tables of outputs.

    The gradient of a batch is then the gradient of the loss by its rows.
    """

    def make(toy, weights, reduction="paper"):
        pairs, add = Rows(toy["Y"]), WeightedSum(reduction, len(toy["Y"]))
        return AlternatingStage(pairs, Table(toy["F"]), Table(toy["G"]), weights, add)

    return make


@pytest.fixture(scope="session")
def fusion_stage():
    """A maker of FDCH's first stage, whose network is a table of H."""

    def make(toy, weights, reduction="paper"):
        add = WeightedSum(reduction, len(toy["Y"]))
        stage = FusionStage(Rows(toy["Y"]), Table(toy["H"]), weights, add)
        # B is of an earlier H while an epoch lasts
        stage.B = torch.tensor(toy["B"])
        return stage

    return make


@pytest.fixture(scope="session")
def modality_stage():
    """A maker of FDCH's second stage, whose networks are tables of F and G."""

    def make(toy, weights, reduction="paper", H=None):
        pairs, add = Rows(toy["Y"]), WeightedSum(reduction, len(toy["Y"]))
        networks = Table(toy["F"]), Table(toy["G"])
        B = torch.tensor(toy["B"])
        return ModalityStage(pairs, *networks, B, weights, add, H)

    return make


@pytest.fixture(scope="session")
def joint_stage():
    """A maker of stages that teach both tables by one loss."""

    def make(toy, loss, is_bounded=True):
        networks = Table(toy["F"]), Table(toy["G"])
        return JointStage(Rows(toy["Y"]), *networks, loss.double(), is_bounded)

    return make


@pytest.fixture(scope="session")
def batch_gradient():
    """The gradient that a batch of one side of a stage gets."""

    def give(stage, side, rows):
        network = stage.image_network if side == "F" else stage.text_network
        loss = stage.image_loss if side == "F" else stage.text_loss
        loss(torch.tensor(rows))[0].backward()
        return network.values.grad[rows].numpy()

    return give


class Table(nn.Module):
    """Outputs that are looked up by row, the same for an image and its text."""

    def __init__(self, values):
        super().__init__()
        self.values = nn.Parameter(torch.tensor(values))

    def forward(self, rows, *others):
        return self.values[rows]


class Rows(TrainingPairs):
    """Pairs whose images and texts are their own row numbers."""

    stays_on_device = is_sampled = False

    def __init__(self, Y):
        self.items, self.labels = len(Y), torch.tensor(Y)

    def images(self, rows):
        return rows

    def texts(self, rows):
        return rows

    def outputs(self, forward, networks):
        return forward(torch.arange(self.items)).detach().clone()
