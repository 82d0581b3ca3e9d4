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
    header, row, *_ = result.stdout.splitlines()
    assert "50 pairs, s" in header
    assert row.startswith("dch")
    assert "60 pairs of 40 image features and 30 words, 8 bits" in result.stdout


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
    assert "imh: too large" in fdch("bench", "methods").stdout


def test_wrong_values_are_named_before_any_work(fdch, tmp_path):
    for more, told in (
        (("--methods", "xyz"), "unknown method"),
        (("--scaling", "1,b"), "--scaling takes numbers"),
        (("--plot", tmp_path / "plot.gif"), "plots are written as"),
    ):
        result = fdch("bench", "methods", *SMALL, *more)
        assert result.exit_code == 1
        assert told in result.stderr
