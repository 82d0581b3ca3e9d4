"""`fdch reproduce`: tables and figures by one command."""

import json

import pytest

TINY = (
    "stage_one_epochs=1 stage_two_epochs=1 text_hidden=16 fusion_width=16 "
    "fusion_hidden=16 batch_size=16"
)
SMALL = [part for text in TINY.split() for part in ("--set", f"fdch*.{text}")]


@pytest.fixture
def reproduce(fdch, features, tmp_path):
    """Run the command on small data, in one process."""
    data = features(tmp_path / "features.npz")

    def run(recipe, *more, methods="cmfh,scm_seq", bits="8", seeds=2):
        return fdch(
            *("reproduce", recipe, "--data", data, "--out", tmp_path / "out"),
            *("--methods", methods, "--bits", bits, "--seeds", seeds),
            *("--workers", 1, *more),
        )

    return run


def test_a_table_is_printed_and_written(reproduce, tmp_path):
    result = reproduce("table2")
    assert result.exit_code == 0, result.stderr
    assert "SCM_seq  modality (own)" in result.stdout
    assert "mean ± standard deviation over seeds 0, 1" in result.stdout
    assert "cells: 4/4 cells" in result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"report.html", "table2.csv", "table2.tex", "cells"}


def test_everything_is_made_by_one_command(reproduce, tmp_path):
    result = reproduce("all", *SMALL, methods="cmfh,fdch,fdch_i", bits="8,16", seeds=1)
    assert result.exit_code == 0, result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"table1.tex", "table2.tex", "figure2.pdf", "figure3-modality.svg"}
    assert "Table 1" in result.stdout
    assert "FDCH-I" in result.stdout


def test_json_is_one_document_with_every_cell(reproduce, tmp_path):
    result = reproduce("table2", "--json")
    document = json.loads(result.stdout)
    assert document["seeds"] == [0, 1]
    assert set(document["cells"]) == set(document["ran"])
    assert len(document["cells"]) == 4
    assert document["cells"]["cmfh-8-0"]["state"] == "done"
    row = document["tables"]["table2"][0]
    assert row["method"] == "cmfh"
    assert 0 < row["map"]["mean"] < 1
    assert str(tmp_path / "out" / "report.html") in document["files"]
    assert json.loads(reproduce("table2", "--json").stdout)["ran"] == []


def test_a_failing_cell_ends_with_one_after_all_else(reproduce):
    result = reproduce("table2", methods="cmfh,scm_orth", bits="16")
    assert result.exit_code == 1
    assert "[1] SCM_orth at 16 bits: images of 12 columns" in result.stdout
    assert "CMFH" in result.stdout
    assert "2 cells of 4 failed" in result.stderr


def test_a_figure_of_a_failing_cell_says_why(reproduce):
    result = reproduce("figure2", methods="scm_orth", bits="16", seeds=1)
    assert result.exit_code == 1
    assert "scm_orth-16-0: images of 12 columns" in result.stdout


def test_cells_of_other_settings_are_run_again_with_a_note(reproduce):
    reproduce("table2", seeds=1)
    result = reproduce("table2", "--set", "cmfh.max_iterations=3", "--json", seeds=1)
    assert "run again" in result.stderr
    assert json.loads(result.stdout)["ran"] == ["cmfh-8-0"]


@pytest.mark.parametrize("part", ["reproduce.reproduce", "outputs.write_outputs"])
def test_interrupted_it_prints_how_to_resume(reproduce, monkeypatch, part):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"fdch.reproduction.{part}", stop)
    result = reproduce("table2", seeds=1)
    assert result.exit_code == 130
    assert "continue with the same command" in result.stderr


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        (("--methods", "fdhc"), "unknown method 'fdhc'; did you mean 'fdch'"),
        (("--set", "fdch.bits=3"), "names no chosen method"),
        (("--set", "cmfh.iterations=3"), "unknown setting 'iterations'"),
        (("--device", "abacus"), "abacus"),
    ],
)
def test_wrong_values_are_named(reproduce, more, reported):
    result = reproduce("table2", *more)
    assert result.exit_code == 1
    assert reported in result.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--bits", "16,x"), "'--bits': 'x' is not a valid whole number"),
        (("--bits", "0"), "0 is not in the range x>=1"),
        (("--bits", ","), "',' names nothing"),
        (("--methods", ""), "'--methods': '' names nothing"),
        (("--workers", "0"), "'--workers': 0 is not in the range x>=1"),
    ],
)
def test_what_is_no_list_or_count_is_wrong_usage(reproduce, more, said):
    result = reproduce("table2", *more)
    assert result.exit_code == 2
    assert said in result.stderr


def test_no_seeds_are_refused(reproduce):
    result = reproduce("table2", seeds=0)
    assert result.exit_code == 2
    assert "'--seeds': 0 is not in the range x>=1" in result.stderr


def test_an_unknown_recipe_is_wrong_usage(reproduce):
    assert reproduce("table7").exit_code == 2


def test_a_method_requested_by_name_is_shown_in_any_table(reproduce):
    result = reproduce("table1", methods="cmfh")
    assert result.exit_code == 0, result.stderr
    assert "CMFH" in result.stdout


def test_tuned_methods_are_shown(reproduce, monkeypatch):
    from fdch.tuning import search

    monkeypatch.setattr(search, "TRIALS_PER_SETTING", 2)
    more = ("--tuned", "--tune-minutes", 2, "--json")
    result = reproduce("table2", *more, methods="dch", seeds=1)
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads(result.stdout)["tuned"]
    assert (row["method"], row["bits"], row["trials"]) == ("dch", 8, 7)
    assert "cells: 1/1 cells" in result.stderr


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        (("--tune-minutes", 2), "--tune-minutes is for --tuned"),
        (("--tuned", "--tune-minutes", 0), "0.0 is not in the range x>0"),
    ],
)
def test_wrong_times_to_tune_are_wrong_usage(reproduce, more, reported):
    result = reproduce("table2", *more)
    assert result.exit_code == 2
    assert reported in result.stderr


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_split_has_the_sizes_that_were_given(reproduce, tmp_path, workers):
    sizes = ("--query-pairs", 30, "--train-pairs", 60)
    result = reproduce("table2", *sizes, "--workers", workers)
    assert result.exit_code == 0, result.stderr
    scores = json.loads((tmp_path / "out/cells/cmfh-8-1/scores.json").read_text())
    found = [scores["protocol"][part] for part in ("queries", "train", "validation")]
    assert found == [30, 54, 6]
    result = reproduce("table2", "--query-pairs", 30)
    assert "give --query-pairs and --train-pairs together" in result.stderr
