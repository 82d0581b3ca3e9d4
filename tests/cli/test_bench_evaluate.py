"""The benchmark's table and document."""

import json

import pytest

pytestmark = pytest.mark.integration

SMALL = ("--queries", 20, "--database", 300, "--bits", 16, "--repeats", 1)


def test_the_table_has_ratio_spread_and_agreement(fdch):
    lines = fdch("bench", "evaluate", *SMALL).stdout.splitlines()
    assert lines[0].split() == ["median", "least", "most"]
    assert [line.split("  ")[0] for line in lines[1:4]] == [
        *("fdch, seconds", "loop of sorts, seconds", "times faster")
    ]
    assert "20 queries, 300 items, 16 bits, 10 labels; 1 turn each" in lines[4]
    assert lines[5].endswith(": the same")


def test_json_is_the_benchmarks_document(fdch):
    result = fdch("bench", "evaluate", *SMALL, "--loop-queries", 5, "--json")
    document = json.loads(result.stdout)
    assert document["queries"] == 20
    assert document["loop_scaled"] is True
    assert document["agreement"]["stable_agrees"] is True


def test_a_scaled_loop_is_told(fdch):
    shown = fdch("bench", "evaluate", *SMALL, "--loop-queries", 5).stdout
    assert "the loop ran 5 queries; its time is scaled up" in shown
