"""Any benchmark's document as tables."""

from fdch.cli.bench._running import show_benchmark


def spread(low, middle, high):
    return {"min": low, "median": middle, "max": high, "all": [low, middle, high]}


def rows(shown):
    lines = shown.splitlines()
    return [[part.strip() for part in line.split("  ") if part] for line in lines]


def test_single_figures_come_first_with_the_names_of_what_holds_them():
    document = {
        "cases": [{"size": 1}],
        "peak_memory_bytes": {"before": 3 * 2**20, "after": None},
        "answers_agree": True,
    }
    assert rows(show_benchmark(document))[1:4] == [
        ["peak memory bytes, before", "3 MiB"],
        ["peak memory bytes, after", "-"],
        ["answers agree", "yes"],
    ]


def test_a_spread_is_a_median_with_its_range_and_a_unit():
    shown = show_benchmark({"ours_seconds": spread(0.001, 0.0025, 2.5), "ratio": 1.0})
    assert "2.5 ms (1 ms to 2.5 s)" in shown


def test_a_mean_has_its_standard_error():
    shown = show_benchmark({"gain": {"mean": 0.5, "standard_error": 0.125}})
    assert "0.500 ± 0.125" in shown


def test_cases_are_rows_and_cases_inside_them_a_further_table():
    sides = {"fdch": {"per_second": 1200.0}, "loop": {"per_second": 400.0}}
    document = {"cases": [{"size": 1000, "ratio": spread(3, 3, 3), "sides": sides}]}
    assert rows(show_benchmark(document)) == [
        ["cases", "size", "ratio"],
        ["1", "1,000", "3"],
        [],
        ["cases, sides", "per second"],
        ["1, fdch", "1,200"],
        ["1, loop", "400"],
    ]


def test_only_the_columns_that_are_wanted_are_shown():
    document = {"cases": [{"size": 1, "seconds": {"ours": 2.0, "peer": 3.0}}]}
    shown = show_benchmark(document, {"cases": "seconds_peer failed"})
    assert rows(shown) == [["cases", "seconds peer"], ["1", "3 s"]]
