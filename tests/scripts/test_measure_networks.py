"""The script that times parts of networks beside PyTorch's own."""

import pytest
from scripts.measure_networks import measure


@pytest.mark.integration
def test_each_part_is_timed_on_both_sides():
    result = measure(1, "cpu")
    assert list(result["parts"]) == [
        "response_norm",
        "linear_layer",
        "word_layer",
        "efficientnet_lite0",
        "efficientnet_lite0_step",
    ]
    for part in result["parts"].values():
        own, peer = part["ours_seconds"]["all"], part["peer_seconds"]["all"]
        assert part["ratio"]["all"] == [peer[0] / own[0]]
        assert part["floor_seconds"] > 0
