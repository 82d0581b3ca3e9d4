"""Training an image network beside the loop as published."""

import numpy as np
import pytest
import torch

from fdch.bench.learning.end_to_end import PictureSizes, end_to_end_benchmark
from fdch.bench.learning.public_loop import PlainCNNF, store_pictures
from fdch.networks.image import load


def test_the_plain_network_is_cnnf():
    ours, plain = load("cnnf"), PlainCNNF()
    weights = zip(ours.parameters(), plain.parameters(), strict=True)
    with torch.no_grad():
        for own, theirs in weights:
            theirs.copy_(own)
        pixels = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
        expected = ours(torch.from_numpy(pixels))
        found = plain(store_pictures(pixels).float())
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.integration
def test_both_sides_are_timed_in_turn():
    sizes = PictureSizes("small", pairs=10, words=20, bits=4, epochs=2, repeats=1)
    result = end_to_end_benchmark(sizes, "cpu")
    assert result["precision"] == "float32"
    peer = result["peer"]["epoch"]["epoch_seconds"]["all"]
    for name, stage in result["stages"].items():
        took = stage["epoch_seconds"]["all"]
        assert result["peer"]["ratio"][name]["all"] == [peer[0] / took[0]]
        assert stage["floor_seconds"] > 0
