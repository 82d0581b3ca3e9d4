import pytest

from fdch.bench.learning.networks import networks_benchmark
from fdch.progress import Update


@pytest.mark.integration
def test_each_part_is_timed_on_both_sides():
    reported: list[Update] = []
    result = networks_benchmark(1, "cpu", reported.append)
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
    assert [update.done for update in reported] == [1, 2, 3, 4, 5]
