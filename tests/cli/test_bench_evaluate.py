"""The benchmark's lines and document."""

import json

import pytest

pytestmark = pytest.mark.integration

SMALL = ("--queries", 20, "--database", 300, "--bits", 16, "--repeats", 1)


def test_lines_have_times_ratio_and_agreement(fdch):
    lines = fdch("bench", "evaluate", *SMALL).stdout.splitlines()
    assert "queries 20" in lines
    for name in ("ours seconds", "loop seconds", "ratio"):
        assert any(line.startswith(name) for line in lines)
    assert lines[-1].startswith("agreement: ")
    assert lines[-1].endswith("stable agrees yes")


def test_json_is_the_benchmarks_document(fdch):
    result = fdch("bench", "evaluate", *SMALL, "--loop-queries", 5, "--json")
    document = json.loads(result.stdout)
    assert document["queries"] == 20
    assert document["loop_scaled"] is True
    assert document["agreement"]["stable_agrees"] is True
