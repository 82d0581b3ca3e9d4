"""The benchmark's table, without its servers."""

import pytest

from fdch.cli.bench.encode import table as encode_table
from fdch.cli.bench.serve import table

pytestmark = pytest.mark.integration


def spread(value):
    return {"min": value, "median": value, "max": value, "all": [value]}


def side(rate):
    return {
        "per_second": spread(rate),
        "milliseconds": {"p50": spread(5.0), "p95": spread(6.0), "p99": spread(7.0)},
        "processor_milliseconds": spread(0.5),
        "requests": 100,
        "errors": 0,
        "memory_bytes": [2**20],
    }


def test_sides_ratio_and_memory_are_shown():
    case = {
        "size": 1000,
        "kind": "random",
        "answers_agree": True,
        "sides": {"fdch": side(1200.0), "threads": side(300.0), "loop": side(400.0)},
        "ratio": spread(3.0),
        "errors": 0,
        "watched": {"requests": 500, "errors": 0, "memory_bytes": [2**20, 2**21]},
    }
    result = {"clients": 64, "k": 20, "bits": 64, "encoder": "torch", "faiss": "1.9"}
    lines = str(table(case, result)).splitlines()
    assert "p99" in lines[0]
    assert "1,200 (1,200-1,200)" in lines[1]
    assert "3.00 (3.00-3.00) times" in lines[4]
    assert "500 requests, in MiB: 1, 2; 0 errors" in lines[5]


def test_both_encoders_are_shown():
    found = {"onnx_milliseconds": 0.5, "torch_milliseconds": 1.0, "ratio": spread(2.0)}
    shown = str(encode_table({"text": found}))
    assert "one text" in shown
    assert "2.00 (2.00-2.00)" in shown
