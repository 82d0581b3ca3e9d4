"""What work takes at least."""

import torch
from torch import nn

from fdch.bench.learning.clocks import join_spans
from fdch.bench.learning.floors import Ceilings, count_operations, count_weights


def test_the_floor_is_the_larger_of_two_times():
    ceilings = Ceilings(float32=10.0, bfloat16=20.0, bandwidth=5.0)
    assert ceilings.floor(operations=100, moved=10, precision="float32") == 10
    assert ceilings.floor(operations=100, moved=10, precision="bfloat16") == 5
    assert ceilings.floor(operations=100, moved=100, precision="bfloat16") == 20


def test_operations_are_products_and_sums():
    layer = nn.Linear(3, 5)
    assert count_operations(layer, torch.ones(7, 3)) == 2 * 7 * 3 * 5
    depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
    planes = torch.ones(2, 4, 6, 6)
    assert count_operations(depthwise, planes) == 2 * 2 * 4 * 6 * 6 * 3 * 3
    assert count_weights(layer, depthwise) == 3 * 5 + 5 + 4 * 9 + 4


def test_times_that_overlap_count_once():
    assert join_spans([]) == 0
    assert join_spans([(4, 6), (0, 2), (5, 7), (1, 1.5)]) == 5
