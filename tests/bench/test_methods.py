"""Costs are measured apart from each other, and told as they are."""

import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.figure import Figure

from fdch.bench.learning import methods as benchmark
from fdch.bench.learning.method_cost import measure_cost
from fdch.bench.learning.methods import (
    Sizes,
    draw_scaling,
    exponent,
    methods_benchmark,
    shallow_methods,
    write_plot,
)
from fdch.bench.learning.workload import Workload
from fdch.errors import SettingError
from fdch.progress import Update

SMALL = Workload(image_width=40, words=30)


def test_deep_methods_are_left_out():
    found = shallow_methods()
    assert {"cmfh", "lssh", "seph_km", "imh"} <= set(found)
    assert not {"fdch", "dcmh", "prdh"} & set(found)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [({10: 1.0, 100: 10.0}, 1.0), ({10: 3.0, 100: 3000.0, 1000: 3e6}, 3.0)],
)
def test_the_exponent_is_the_slope_between_powers(seconds, expected):
    assert exponent(seconds) == pytest.approx(expected)


def test_one_measurement_has_no_slope():
    assert exponent({10: 1.0}) is None


def test_whole_pairs_are_encoded_by_unified_codes_where_there_are_any():
    unified = measure_cost("cmfh", 8, 60, SMALL, encode=70, sample=20)["encoding"]
    assert {side: part["pairs"] for side, part in unified["sides"].items()} == {
        "image": 20,
        "text": 20,
        "unified": 70,
    }
    assert unified["seconds"] == unified["sides"]["unified"]["seconds"]
    apart = measure_cost("dch", 8, 60, SMALL, encode=70, sample=20)["encoding"]
    seconds = [part["seconds"] for part in apart["sides"].values()]
    assert apart["seconds"] == pytest.approx(sum(seconds))
    assert {part["pairs"] for part in apart["sides"].values()} == {70}


def test_parts_of_a_long_encoding_are_added_up(monkeypatch):
    drawn = []
    draw = Workload.draw

    def noted(self, pairs, part=0):
        drawn.append((pairs, part))
        return draw(self, pairs, part)

    monkeypatch.setattr(Workload, "draw", noted)
    monkeypatch.setattr("fdch.bench.learning.method_cost.ROWS_AT_A_TIME", 32)
    measure_cost("cmfh", 8, 60, SMALL, encode=70, sample=20)
    assert drawn == [(60, 0), (32, 1), (32, 2), (6, 3)]


@pytest.fixture
def result(monkeypatch):
    """A benchmark without processes; one method fails."""

    def measure(name, number, sizes):
        if name == "imh":
            return {"failed": "too many pairs"}
        found = {"fit_seconds": number**2 / 1e6, "peak_memory_bytes": 10**9}
        if number == sizes.pairs:
            side = {"pairs": 100, "seconds": 0.5}
            found["encoding"] = {"sides": {"image": side}, "pairs": 100, "seconds": 2.0}
        return {"pairs": number, **found}

    monkeypatch.setattr(benchmark, "_measure", measure)
    seen: list[Update] = []
    sizes = Sizes(pairs=1000, encode_pairs=400, scaling=(500, 2000), workload=SMALL)
    found = methods_benchmark(sizes, ["dch", "imh"], seen.append)
    assert [update.done for update in seen] == [0, 1, 2, 3, 4, 5, 6]
    return found


def test_times_of_fewer_pairs_are_scaled_and_marked(result):
    encoding = result["methods"]["dch"]["encoding"]
    assert encoding["is_scaled"]
    assert encoding["seconds_for_all"] == 8.0
    assert encoding["sides"]["image"]["pairs_per_second"] == 200


def test_growth_is_fitted_to_all_sizes(result):
    scaling = result["methods"]["dch"]["scaling"]
    assert list(scaling["fit_seconds"]) == ["500", "1000", "2000"]
    assert scaling["exponent"] == pytest.approx(2)


def test_a_method_that_fails_is_told_of_beside_the_others(result):
    assert result["methods"]["imh"]["failed"] == "too many pairs"
    assert result["methods"]["imh"]["scaling"]["exponent"] is None


def test_the_plot_has_a_line_to_each_method_and_says_how_it_grows(result, tmp_path):
    figure = Figure()
    draw_scaling(figure, result)
    (line,) = figure.axes[0].get_lines()
    assert line.get_label() == "DCH  n$^{2.0}$"
    write_plot(tmp_path / "plot.svg", lambda figure: draw_scaling(figure, result))
    ElementTree.parse(tmp_path / "plot.svg")


def test_a_plot_of_another_kind_is_refused(result, tmp_path):
    with pytest.raises(SettingError, match=r"\.svg, \.pdf, \.png"):
        write_plot(tmp_path / "plot.gif", lambda figure: None)


def test_unknown_methods_are_refused_before_any_work():
    with pytest.raises(SettingError, match="unknown method"):
        methods_benchmark(Sizes(), ["dch", "xyz"])


@pytest.mark.integration
def test_a_process_of_its_own_measures_and_reports():
    sizes = Sizes(pairs=60, bits=8, encode_pairs=50, workload=SMALL)
    found = methods_benchmark(sizes, ["dch"])["methods"]
    assert found["dch"]["fit_seconds"] > 0
    assert found["dch"]["peak_memory_bytes"] > 10**7
    assert not found["dch"]["encoding"]["is_scaled"]


def test_a_process_that_dies_is_a_failure(monkeypatch):
    monkeypatch.setattr(benchmark, "MEASURE", ("false",))
    sizes = Sizes(pairs=60, bits=8, encode_pairs=50, workload=SMALL)
    found = methods_benchmark(sizes, ["dch"])["methods"]["dch"]
    assert found["failed"] == "its process ended with exit code 1."
