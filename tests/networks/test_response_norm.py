"""Local response normalisation against its formula and against torch's."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from fdch.networks.backbones.response_norm import response_norm


def planes(channels=7, **settings):
    generator = torch.Generator().manual_seed(0)
    return 100 * torch.randn(2, channels, 3, 4, generator=generator, **settings)


def test_equals_the_formula_written_as_loops():
    given = planes(dtype=torch.float64).numpy()
    expected = np.empty_like(given)
    for item, channel, row, column in np.ndindex(given.shape):
        total = 0.0
        for neighbour in range(max(0, channel - 2), min(7, channel + 3)):
            total += given[item, neighbour, row, column] ** 2
        value = given[item, channel, row, column]
        expected[item, channel, row, column] = value / (2 + 1e-4 * total) ** 0.75
    np.testing.assert_allclose(response_norm(torch.from_numpy(given)), expected)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_equals_torch_with_alpha_times_the_window(layout):
    given = planes(64).contiguous(memory_format=layout)
    expected = functional.local_response_norm(given, 5, alpha=5e-4, beta=0.75, k=2)
    torch.testing.assert_close(response_norm(given), expected)


def test_gradient_equals_finite_differences():
    given = planes(dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(response_norm, given)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_fewer_channels_than_the_window_are_fine(channels):
    given = planes(channels)
    expected = functional.local_response_norm(given, 5, alpha=5e-4, beta=0.75, k=2)
    torch.testing.assert_close(response_norm(given), expected)
