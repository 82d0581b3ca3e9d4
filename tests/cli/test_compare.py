"""Several scores in one table."""

import json
import shutil

import pytest

from fdch.cli import compare
from fdch.evaluation import MEASURES, score_files


@pytest.fixture
def scores(on_features, tmp_path):
    """Write changed copies of real scores to files, or to folders with all of them."""
    first = json.loads((on_features.run / "scores.json").read_text("utf-8"))

    def write(name, method="fdch", folder=False, **protocol):
        changed = {**first, "method": method}
        changed["protocol"] = {**first["protocol"], **protocol}
        path = tmp_path / f"{name}.json"
        if folder:
            (tmp_path / name).mkdir()
            path = tmp_path / name / "scores.json"
            shutil.copy(on_features.run / "queries.safetensors", path.parent)
        path.write_text(json.dumps(changed), "utf-8")
        return path.parent if folder else path

    return write


def test_runs_and_files_stand_side_by_side(fdch, on_features, scores):
    result = fdch("compare", on_features.run, scores("other", "rival"))
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["method", "gallery"]
    assert [line.split()[0] for line in lines[1:5]] == [
        *("fdch", "rival", "fdch", "rival")
    ]


def test_the_choices_are_the_measures_there_are():
    assert tuple(MEASURES) == compare.MEASURES


@pytest.mark.parametrize("measure", ["map", "ndcg_at_10", "partner_recall_at_10"])
def test_runs_are_paired_query_by_query(fdch, on_features, scores, measure):
    other = scores("other", "rival", folder=True)
    words = "compare", on_features.run, other, "--measure", measure
    result = fdch(*words)
    assert result.exit_code == 0, result.stderr
    assert "rival 16  less fdch 16  modality  image → text  +0.0000" in result.stdout
    document = json.loads(fdch(*words, "--json").stdout)
    assert len(document["paired"]) == (2 if measure.startswith("partner") else 4)
    assert document["paired"][0] == {
        "method": "rival",
        "bits": 16,
        "reference": "fdch",
        "reference_bits": 16,
        "gallery": "modality",
        "direction": "image_to_text",
        "difference": 0,
        "interval": [0, 0],
        "p": 1,
        "queries": 12,
    }
    assert document["not_paired"] == []


def test_seeds_are_pooled_in_the_paired_test(fdch, scores):
    runs = [
        scores(f"{method}{seed}", method, folder=True, seed=seed, split=f"s{seed}")
        for method in ("fdch", "rival")
        for seed in (0, 1)
    ]
    document = json.loads(fdch("compare", *runs, "--over-seeds", "--json").stdout)
    assert {each["queries"] for each in document["paired"]} == {24}


def test_what_cannot_be_paired_is_reported_below_the_table(fdch, on_features, scores):
    alone = fdch("compare", on_features.run, scores("file", "rival")).stdout
    assert "no paired test of rival 16 and fdch 16: no scores of single" in alone
    apart = scores("apart", "rival", folder=True, split="another")
    mixed = fdch("compare", on_features.run, apart, "--mixed-protocols").stdout
    assert "they were scored on different queries (split)" in mixed


def test_damaged_scores_of_queries_are_noted_and_left_out(fdch, on_features, scores):
    other = scores("other", "rival", folder=True)
    (other / "queries.safetensors").write_bytes(b"?" * 50)
    result = fdch("compare", on_features.run, other)
    assert result.exit_code == 0
    assert "cannot be read" in result.stderr
    assert "no paired test" in result.stdout


def test_scores_of_before_show_a_dash(fdch, scores):
    file = scores("old")
    document = json.loads(file.read_text())
    del document["partner"], document["intervals"]
    for directions in document["scores"].values():
        for part in directions.values():
            del part["ndcg_at"], part["intervals"]
    file.write_text(json.dumps(document))
    for measure in ("ndcg_at_10", "partner_recall_at_10"):
        result = fdch("compare", file, "--measure", measure)
        assert result.exit_code == 0, result.stderr
        assert " -  " in result.stdout


def test_runs_of_one_method_are_named_by_their_paths(fdch, on_features, scores):
    other = scores("tuned", folder=True)
    result = fdch("compare", on_features.run, other)
    assert result.exit_code == 0, result.stderr
    assert f"fdch {other} 16  less fdch {on_features.run} 16" in result.stdout
    twice = fdch("compare", other, other)
    assert (twice.exit_code, "give each run once" in twice.stderr) == (1, True)


def test_different_protocols_are_refused_unless_requested(fdch, scores):
    files = scores("a"), scores("b", "rival", queries=50)
    refused = fdch("compare", *files)
    assert refused.exit_code == 1
    assert "different protocols: queries 12 and 50" in refused.stderr
    assert "pass --mixed-protocols" in refused.stderr
    assert "=True" not in refused.stderr
    allowed = fdch("compare", *files, "--mixed-protocols")
    assert allowed.exit_code == 0
    assert "50 queries" in allowed.stdout


def test_seeds_are_averaged_where_requested(fdch, scores):
    files = scores("a"), scores("b", seed=1, split="another")
    refused = fdch("compare", *files)
    assert refused.exit_code == 1
    assert "average them with --over-seeds" in refused.stderr
    result = fdch("compare", *files, "--over-seeds")
    assert "± 0.0000" in result.stdout
    assert "over seeds 0, 1" in result.stdout


def test_json_holds_the_table(fdch, scores):
    files = scores("a"), scores("b", seed=1, split="another")
    document = json.loads(fdch("compare", *files, "--over-seeds", "--json").stdout)
    assert document["measure"] == "map"
    assert document["header"][0] == "method"
    assert document["rows"][0][2]["deviation"] == 0
    assert len(document["rows"]) == 2


@pytest.mark.parametrize(
    ("form", "first"), [("csv", "method,gallery,"), ("latex", "% mAP, worst order")]
)
def test_other_formats_and_measures(fdch, scores, form, first):
    words = ("compare", scores("a"), "--format", form, "--measure", "map_worst")
    assert fdch(*words).stdout.startswith(first)


def test_a_run_without_scores_says_how_to_get_them(fdch, tmp_path):
    for path in (tmp_path, tmp_path / "no.json"):
        result = fdch("compare", path)
        assert result.exit_code == 1
        assert "Give a run that 'fdch evaluate' has scored, or a" in result.stderr
    (tmp_path / "run.json").write_text("{}")
    result = fdch("compare", tmp_path)
    assert f"Score it with 'fdch evaluate {tmp_path}'" in result.stderr


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"method": 3}', "[" * 100_000, '{"bits": NaN}']
)
def test_a_file_that_holds_no_scores_is_refused(fdch, tmp_path, content):
    file = tmp_path / "strange.json"
    file.write_text(content)
    result = fdch("compare", file)
    assert result.exit_code == 1
    assert "does not hold the scores" in result.stderr
    assert "). Give a run that 'fdch evaluate' has scored" in result.stderr


def test_a_file_too_large_for_scores_is_not_read(fdch, tmp_path, monkeypatch):
    monkeypatch.setattr(score_files, "MAX_BYTES", 10)
    file = tmp_path / "large.json"
    file.write_text("x" * 11)
    assert "it has over 10 bytes" in fdch("compare", file).stderr


def test_scores_cannot_command_the_terminal(fdch, scores):
    for form in ("text", "csv", "latex"):
        result = fdch("compare", scores("a", "\x1b[31mevil"), "--format", form)
        assert result.exit_code == 0
        assert "\x1b" not in result.stdout
        assert "[31mevil" in result.stdout
