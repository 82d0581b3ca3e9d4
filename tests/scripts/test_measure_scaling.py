"""The cost of an epoch against the number of pairs, or of words."""

from scripts.measure_scaling import measure, repeat_pairs

from fdch.bench.learning.clocks import EpochClock
from fdch.bench.learning.workload import Workload
from scripts import measure_scaling


def test_larger_sets_repeat_the_rows_of_a_small_one():
    drawn = Workload(24, 40).draw(5)
    pairs = repeat_pairs(drawn, 12)
    assert len(pairs) == len(set(pairs.ids)) == 12
    assert (pairs.labels == drawn.labels[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]]).all()
    assert len(repeat_pairs(drawn, 3)) == 3


def test_each_number_of_pairs_has_its_cost():
    result = measure([150, 300], [40], 24, 8, 2, "auto", "cpu")
    assert [cost["pairs"] for cost in result["costs"]] == [150, 300]
    for cost in result["costs"]:
        assert cost["pairwise"] == "exact"
        assert cost["both_stages_seconds"] == sum(cost["epoch_seconds"].values())
        assert cost["peak_device_memory_bytes"] is None


def test_each_number_of_words_has_its_cost():
    result = measure([150], [40, 9000], 24, 8, 2, "auto", "cpu")
    assert [cost["words"] for cost in result["costs"]] == [40, 9000]
    for cost in result["costs"]:
        assert min(cost["step_processor_seconds"].values()) > 0


def test_stage_two_takes_two_steps_for_each_batch(monkeypatch):
    class Steady(EpochClock):
        def __call__(self, update):
            super().__call__(update)
            self.processor["stage 1"] = self.processor["stage 2"] = [9.0, 1.0]

    monkeypatch.setattr(measure_scaling, "EpochClock", Steady)
    result = measure([150], [40], 24, 8, 2, "auto", "cpu")  # two batches
    steps = result["costs"][0]["step_processor_seconds"]
    assert steps == {"stage 1": 1 / 2, "stage 2": 1 / 4}
