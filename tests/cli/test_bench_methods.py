"""`fdch bench methods`: a table, a document, a plot."""

import json

import pytest

pytestmark = pytest.mark.integration

SMALL = [
    "--pairs",
    "60",
    "--image-width",
    "40",
    "--words",
    "30",
    "--bits",
    "8",
    "--methods",
    "dch",
    "--encode-pairs",
    "50",
]


def test_a_table_tells_time_memory_and_rates(fdch):
    result = fdch("bench", "methods", *SMALL)
    assert result.exit_code == 0, result.stderr
    *_, header, row = result.stdout.splitlines()
    assert "fit seconds" in header
    assert row.startswith("dch")


def test_a_plot_and_a_document(fdch, tmp_path):
    plot = tmp_path / "plot.png"
    more = ("--scaling", "30", "--plot", plot, "--json")
    result = fdch("bench", "methods", *SMALL, *more)
    document = json.loads(result.stdout)
    assert list(document["methods"]["dch"]["scaling"]["fit_seconds"]) == ["30", "60"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_measured_is_listed(fdch, monkeypatch):
    failed = {"failed": "too large", "scaling": {"exponent": None}}
    found = {"pairs": 9, "bits": 8, "encode_pairs": 5, "image_width": 4, "words": 3}
    monkeypatch.setattr(
        "fdch.bench.learning.methods.methods_benchmark",
        lambda *_: {**found, "methods": {"imh": failed}},
    )
    *_, row = fdch("bench", "methods").stdout.splitlines()
    assert row.split("  ")[0] == "imh"
    assert row.endswith("too large")


def test_wrong_values_are_named_before_any_work(fdch, tmp_path):
    for more, told in (
        (("--methods", "xyz"), "unknown method"),
        (("--scaling", "1,b"), "--scaling takes numbers"),
        (("--plot", tmp_path / "plot.gif"), "plots are written as"),
    ):
        result = fdch("bench", "methods", *SMALL, *more)
        assert result.exit_code == 1
        assert told in result.stderr
