"""The small network for tiny pictures."""

import pytest
import torch

from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.image import load


def pixels(batch, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, 64, 64, 3)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def test_gives_256_features_from_half_a_million_weights():
    network = load("small")
    assert network(pixels(3)).shape == (3, 256)
    assert sum(part.numel() for part in network.parameters()) == 536_608


@pytest.mark.parametrize("training", [False, True])
def test_features_do_not_depend_on_the_batch(training):
    network = load("small").train(training)
    batch = pixels(5)
    alone = torch.cat([network(row[None]) for row in batch])
    torch.testing.assert_close(network(batch), alone, atol=1e-5, rtol=1e-5)


def test_features_of_random_weights_have_a_useful_scale():
    features = load("small")(pixels(8))
    assert 0.05 < features.std().item() < 5


def test_a_few_steps_separate_bright_from_dark():
    network = load("small", generator=torch.Generator().manual_seed(1))
    module = FineTunedNetwork(network, ImageHead(network.width, 1)).train()
    batch = pixels(16) // 2
    batch[8:] += 127
    wanted = torch.cat([-torch.ones(8), torch.ones(8)])
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    for _ in range(8):
        optimizer.zero_grad()
        loss = (module(batch)[:, 0] - wanted).square().mean()
        loss.backward()
        optimizer.step()
    outputs = module(batch)[:, 0]
    assert outputs[8:].min() > outputs[:8].max()
