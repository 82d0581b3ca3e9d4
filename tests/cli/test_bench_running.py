"""Any benchmark's document as lines."""

from fdch.cli.bench._running import show_benchmark


def spread(low, middle, high):
    return {"min": low, "median": middle, "max": high, "all": [low, middle, high]}


def show(document):
    return list(show_benchmark("", document))


def test_figures_come_first_and_parts_below_with_their_names():
    document = {
        "cases": [{"size": 1}],
        "peak_memory_bytes": {"before": 3 * 2**20, "after": None},
        "answers_agree": True,
    }
    assert show(document) == [
        "answers agree yes",
        "cases:",
        "  1: size 1",
        "peak memory bytes: before 3 MiB, after -",
    ]


def test_a_spread_is_a_median_with_its_range_and_a_unit():
    shown = show({"ours_seconds": spread(0.001, 0.0025, 2.5), "ratio": 1.0})
    assert shown == ["ours seconds 2.5 ms (1 ms to 2.5 s)", "ratio 1"]


def test_a_mean_has_its_standard_error():
    shown = show({"gain": {"mean": 0.5, "standard_error": 0.125}})
    assert shown == ["gain mean 0.5 / standard error 0.125"]


def test_cases_inside_cases_are_indented():
    sides = {"fdch": {"per_second": 1200.0}, "loop": {"per_second": 400.0}}
    document = {"cases": [{"size": 1000, "ratio": spread(3, 3, 3), "sides": sides}]}
    assert show(document) == [
        "cases:",
        "  1: size 1,000, ratio 3",
        "    sides:",
        "      fdch: per second 1,200",
        "      loop: per second 400",
    ]
