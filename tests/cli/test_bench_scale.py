"""`fdch bench scale`: a table, and a plot of the same."""

import pytest

SMALL = ["--pairs", "150,300", "--image-width", "24", "--words", "40", "--bits", "8"]


@pytest.mark.integration
def test_costs_are_listed_and_drawn(fdch, tmp_path):
    result = fdch("bench", "scale", *SMALL, "--plot", tmp_path / "costs.svg")
    assert result.exit_code == 0, result.stderr
    assert "epoch seconds: stage 1 " in result.stdout
    assert "<svg" in (tmp_path / "costs.svg").read_text()


def test_a_plot_of_another_kind_is_refused_before_any_work(fdch, tmp_path):
    result = fdch("bench", "scale", *SMALL, "--plot", tmp_path / "costs.gif")
    assert result.exit_code == 1
    assert "'costs.gif' ends otherwise" in result.stderr
