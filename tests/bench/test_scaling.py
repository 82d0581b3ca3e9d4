"""The cost of an epoch against the number of pairs, or of words."""

import pytest

from fdch.bench.learning import scaling
from fdch.bench.learning.clocks import EpochClock
from fdch.bench.learning.scaling import plot_costs, repeat_pairs, scaling_benchmark
from fdch.bench.learning.workload import Workload
from fdch.errors import SettingError


def test_larger_sets_repeat_the_rows_of_a_small_one():
    drawn = Workload(24, 40).draw(5)
    pairs = repeat_pairs(drawn, 12)
    assert len(pairs) == len(set(pairs.ids)) == 12
    assert (pairs.labels == drawn.labels[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]]).all()
    assert len(repeat_pairs(drawn, 3)) == 3


def test_each_number_of_pairs_has_its_cost():
    result = scaling_benchmark([150, 300], 24, [40], 8, 2, "auto", "cpu")
    assert [cost["pairs"] for cost in result["costs"]] == [150, 300]
    for cost in result["costs"]:
        assert cost["pairwise"] == "exact"
        assert cost["both_stages_seconds"] == sum(cost["epoch_seconds"].values())
        assert cost["peak_device_memory_bytes"] is None


def test_each_number_of_words_has_its_cost():
    result = scaling_benchmark([150], 24, [40, 9000], 8, 2, "auto", "cpu")
    assert [cost["words"] for cost in result["costs"]] == [40, 9000]
    for cost in result["costs"]:
        assert min(cost["step_processor_seconds"].values()) > 0


def test_stage_two_takes_two_steps_for_each_batch(monkeypatch):
    class Steady(EpochClock):
        def __call__(self, update):
            super().__call__(update)
            self.processor["stage 1"] = self.processor["stage 2"] = [9.0, 1.0]

    monkeypatch.setattr(scaling, "EpochClock", Steady)
    result = scaling_benchmark([150], 24, [40], 8, 2, "auto", "cpu")  # two batches
    steps = result["costs"][0]["step_processor_seconds"]
    assert steps == {"stage 1": 1 / 2, "stage 2": 1 / 4}


def test_pairs_and_words_do_not_grow_together():
    with pytest.raises(SettingError, match="not of both"):
        scaling_benchmark([150, 300], 24, [40, 50], 8, 2, "auto", "cpu")


@pytest.mark.parametrize(
    ("over", "title"),
    [("pairs", "training pairs"), ("words", "words of the vocabulary")],
)
def test_costs_are_drawn_over_what_grows(tmp_path, over, title):
    costs = [
        {
            "pairs": 10,
            "words": 10,
            over: number,
            "epoch_seconds": {"stage 1": number / 10, "stage 2": number / 5},
            "peak_memory_bytes": number * 10**9,
            "peak_device_memory_bytes": None,
        }
        for number in (10, 100)
    ]
    plot_costs(tmp_path / "costs.svg", costs)
    drawn = (tmp_path / "costs.svg").read_text()
    for text in (title, "seconds an epoch", "memory, GB", "stage 1", "stage 2", "host"):
        assert f"<!-- {text} -->" in drawn
    assert "<!-- accelerator -->" not in drawn
