"""Pixels brought batch by batch are those of the rows, and teach the same."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.image import load
from fdch.networks.share import Share
from fdch.networks.text import TextNetwork
from fdch.objectives.reduction import WeightedSum
from fdch.training import batches
from fdch.training.alternating import AlternatingStage, AlternatingWeights
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.devices import streams
from fdch.training.devices.streams import PixelStream
from fdch.training.loop import Schedule, train

CPU = torch.device("cpu")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.device)]
ITEMS, SIZE, WORDS, BITS = 11, 64, 30, 4


def draw_pixels(items=ITEMS, size=SIZE):
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (items, size, size, 3), dtype=np.uint8)


@pytest.mark.parametrize("device", DEVICES)
def test_batches_come_in_order_each_with_its_pixels(device):
    pixels = draw_pixels(50, 4)
    stream = PixelStream(pixels, torch.device(device))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(1))
    for _ in range(2):  # epochs
        assert stream.pixels is None
        seen: list[int] = []
        for rows in stream.deliver(torch.split(order.to(device), 8)):
            assert stream.pixels is not None
            assert np.array_equal(stream.pixels.cpu(), pixels[rows.cpu()])
            seen += rows.tolist()
        assert seen == order.tolist()


def test_a_batch_always_lies_at_the_same_place():
    stream = PixelStream(draw_pixels(50, 4), CPU)
    places = set()
    for _ in stream.deliver(torch.split(torch.arange(50), 8)):
        assert stream.pixels is not None
        places.add(stream.pixels.data_ptr())
    assert len(places) == 1


def test_only_the_share_of_a_process_is_brought(monkeypatch):
    monkeypatch.setattr(streams, "own_share", lambda n: Share(n, slice(1, 3)))
    pixels = draw_pixels(8, 4)
    stream = PixelStream(pixels, CPU)
    for rows in stream.deliver([torch.tensor([5, 0, 7, 2])]):
        assert len(rows) == 4
        assert stream.pixels is not None
        assert np.array_equal(stream.pixels, pixels[[0, 7]])


def test_what_a_thread_cannot_read_is_an_error():
    class Broken(np.ndarray):
        def take(self, *args, **settings):
            raise OSError("the disk is gone")

    stream = PixelStream(draw_pixels(8, 4).view(Broken), CPU)
    with pytest.raises(OSError, match="the disk is gone"):
        list(stream.deliver([torch.tensor([1])]))


def learn(device, is_streamed):
    """Train small networks on pixels; return the outputs of all pairs."""
    rng = np.random.default_rng(1)
    with pytest.MonkeyPatch.context() as patch:
        if is_streamed:
            patch.setattr(batches, "SHARE_FOR_PIXELS", 0.0)
        pairs = TrainingPairs(
            draw_pixels(),
            csr_array((rng.random((ITEMS, WORDS)) < 0.2).astype(np.float32)),
            (rng.random((ITEMS, 3)) < 0.5).astype(np.uint8),
            device,
        )
    if is_streamed and device.type == "cpu":  # where pixels are never moved at once
        pairs._stream = PixelStream(draw_pixels(), device)
    network = load("small")
    stage = AlternatingStage(
        pairs,
        FineTunedNetwork(network, ImageHead(network.width, BITS), "float32").to(device),
        TextNetwork(WORDS, BITS, hidden=8).to(device),
        AlternatingWeights(0.1, 0.1),
        WeightedSum("per_term", ITEMS),
    )
    assert (pairs._stream is not None) == is_streamed
    train(
        stage,
        Schedule(2, 4, 1e-3, 1e-4, 0.1, "adamw"),
        0,
        Context(device=str(device)),
    )
    return stage.F.cpu(), stage.G.cpu()


def test_a_streamed_training_gives_the_same_weights():
    resident, streamed = (learn(CPU, is_it) for is_it in (False, True))
    assert all(map(torch.equal, resident, streamed))


@pytest.mark.device
def test_a_streamed_training_agrees_on_an_accelerator():
    cuda = torch.device("cuda")
    resident, streamed = (learn(cuda, is_it) for is_it in (False, True))
    for one, other in zip(resident, streamed, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-2, atol=1e-3)
