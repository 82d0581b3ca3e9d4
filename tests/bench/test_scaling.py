"""The cost of an epoch against the number of pairs."""

from fdch.bench.learning.scaling import ScalingSizes, repeat_pairs, scaling_benchmark
from fdch.bench.learning.workload import Workload

TINY = ScalingSizes(image_width=24, words=40, bits=8)


def test_larger_sets_repeat_the_rows_of_a_small_one():
    drawn = Workload(24, 40).draw(5)
    pairs = repeat_pairs(drawn, 12)
    assert len(pairs) == len(set(pairs.ids)) == 12
    assert (pairs.labels == drawn.labels[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]]).all()
    assert len(repeat_pairs(drawn, 3)) == 3


def test_each_number_of_pairs_has_its_cost():
    result = scaling_benchmark([150, 300], TINY, "cpu")
    assert [cost["pairs"] for cost in result["costs"]] == [150, 300]
    for cost in result["costs"]:
        assert cost["pairwise"] == "exact"
        assert cost["both_stages_seconds"] == sum(cost["epoch_seconds"].values())
        assert cost["peak_device_memory_bytes"] is None
