"""Weights survive as arrays; arrays that do not fit are refused by name."""

import numpy as np
import pytest
import torch
from torch import nn

from fdch.errors import DamagedRun
from fdch.networks.weights import load_weights, weights_to_arrays

CPU = torch.device("cpu")


def empty(width=3):
    with torch.device("meta"):
        return {"image": nn.Linear(width, 2)}


def test_weights_come_back_as_they_were():
    networks = {"image": nn.Linear(3, 2)}
    arrays = weights_to_arrays(networks)
    assert set(arrays) == {"image.weight", "image.bias"}
    restored = empty()
    load_weights(restored, {**arrays, "other": np.zeros(1)}, CPU)
    rows = torch.randn(4, 3)
    assert torch.equal(restored["image"](rows), networks["image"](rows))


def test_weights_of_another_size_are_refused_before_memory_is_taken():
    arrays = weights_to_arrays({"image": nn.Linear(3, 2)})
    wide = empty(width=10**9)
    with pytest.raises(DamagedRun, match=r"image\.weight is float32 \(2, 3\)"):
        load_weights(wide, arrays, CPU)
    assert all(tensor.is_meta for tensor in wide["image"].state_dict().values())


def test_missing_weights_are_named():
    arrays = weights_to_arrays({"image": nn.Linear(3, 2)})
    del arrays["image.bias"]
    with pytest.raises(DamagedRun, match=r"image\.bias is missing"):
        load_weights(empty(), arrays, CPU)


def test_what_is_computed_and_not_saved_stays():
    class Positions(nn.Linear):
        positions: torch.Tensor

        def __init__(self):
            super().__init__(3, 2)
            self.register_buffer("positions", torch.arange(5), persistent=False)

    restored = Positions()
    load_weights({"image": restored}, weights_to_arrays({"image": Positions()}), CPU)
    assert restored.positions.tolist() == [0, 1, 2, 3, 4]
