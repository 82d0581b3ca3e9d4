"""`--limit N`: a part of the data, the same in every command."""

import json

import pytest

from fdch.data.pairs import PairedSet

DCH = ("--method", "dch", "--bits", 8)


@pytest.fixture
def data(features, tmp_path):
    return features(tmp_path / "features.npz")


@pytest.fixture
def succeed(fdch):
    def run(*words):
        result = fdch(*words)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return run


def test_a_run_is_of_its_limit_and_an_index_of_all_pairs(succeed, data, tmp_path):
    run = tmp_path / "run"
    succeed("train", data, *DCH, "--limit", 80, "--out", run)
    known = json.loads((run / "run.json").read_text())["data"]
    assert (known["limit"], known["pairs"]) == (80, 80)
    assert known["name"] == "features (80 of 120 pairs)"
    protocol = json.loads(succeed("evaluate", run, "--json"))["protocol"]
    assert protocol["data"] == PairedSet.read(data, limit=80).fingerprint
    assert "(80 of 120 pairs)" in (run / "model-card.md").read_text()
    for words, items in (((), 120), (("--limit", 50), 50)):
        index = tmp_path / f"{items}.index"
        made = succeed("index", "create", index, "--run", run, data, *words, "--json")
        assert json.loads(made)["items"] == items
    more = succeed("index", "add", index, data, "--limit", 60, "--json")
    assert json.loads(more)["items"] == 60  # the 50 are some of the 60


def test_a_limit_needs_data_to_read(fdch, succeed, data, tmp_path):
    run, codes, index = tmp_path / "run", tmp_path / "codes.npz", tmp_path / "index"
    succeed("train", data, *DCH, "--out", run)
    assert fdch("evaluate", run, "--limit", 50).exit_code == 2
    found = json.loads(succeed("evaluate", run, data, "--limit", 50, "--json"))
    whole = json.loads((run / "run.json").read_text())["data"]["fingerprint"]
    assert found["protocol"]["trained_on"] == whole != found["protocol"]["data"]
    succeed("encode", run, data, "--limit", 50, "--out", codes)
    succeed("index", "create", index, "--run", run)
    refused = fdch("index", "add", index, codes, "--limit", 10)
    assert refused.exit_code == 2 and "leave out --limit" in refused.stderr
    assert json.loads(succeed("index", "add", index, codes, "--json"))["items"] == 50
    assert fdch("data", "inspect", data, "--limit", 0).exit_code == 2


def test_cells_of_different_limits_never_mix(succeed, data, tmp_path):
    def cells(*more):
        words = ("table2", "--methods", "dch", "--bits", 8, "--seeds", 1, "--json")
        out = tmp_path / "table"
        shown = succeed("reproduce", *words, "--data", data, "--out", out, *more)
        record = json.loads((out / "cells" / "dch-8-0" / "cell.json").read_text())
        caption = (out / "table2.tex").read_text()
        return json.loads(shown)["ran"], record["task"].get("limit"), caption

    assert cells("--limit", 80)[:2] == (["dch-8-0"], 80)
    ran, limit, caption = cells("--limit", 80)
    assert (ran, limit) == ([], 80) and "(80 of 120 pairs)" in caption
    assert cells()[:2] == (["dch-8-0"], None)
