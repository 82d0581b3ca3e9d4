"""The benchmark's table and document."""

import json
import re

import pytest

pytestmark = pytest.mark.integration

SMALL = ("--queries", 20, "--database", 300, "--bits", 16, "--repeats", 1)


def test_the_table_has_times_ratio_and_agreement(fdch):
    lines = fdch("bench", "evaluate", *SMALL).stdout.splitlines()
    shown = dict(re.split("  +", line) for line in lines)
    assert shown["queries"] == "20"
    assert {"ours seconds", "loop seconds", "ratio"} <= shown.keys()
    assert shown["agreement, stable agrees"] == "yes"


def test_json_is_the_benchmarks_document(fdch):
    result = fdch("bench", "evaluate", *SMALL, "--loop-queries", 5, "--json")
    document = json.loads(result.stdout)
    assert document["queries"] == 20
    assert document["loop_scaled"] is True
    assert document["agreement"]["stable_agrees"] is True
