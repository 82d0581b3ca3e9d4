"""The script that measures how often results have what a title names."""

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "measure_named_values.py"


def test_the_first_ten_results_of_each_query_are_looked_at(on_scenes):
    found = runpy.run_path(str(SCRIPT))["measure"](on_scenes.run, "scene")
    assert list(found) == ["queries", "brand", "queries naming scene", "scene"]
    assert found["queries"] == 6
    assert 0 < found["brand"] <= 1
    assert found["queries naming scene"] <= 6


def test_missing_arguments_are_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert ended.value.code == 2
    assert "required: run, column" in capsys.readouterr().err
