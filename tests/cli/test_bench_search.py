"""The benchmark's lines and document."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.integration

pytest.importorskip("faiss")
SMALL = ("--sizes", 2000, "--threads", 1, "--repeats", 1, "-k", 5)


def test_lines_have_ratios_and_agreement(fdch):
    shown = fdch("bench", "search", *SMALL, "--batches", "1,5", "--parts", "scan")
    rows = [line for line in shown.stdout.splitlines() if " kind " in line]
    assert [row.split(": ")[1].split(", ")[:4] for row in rows] == [
        [f"kind {kind}", "size 2,000", "bits 64", f"batch {batch}"]
        for kind in ("random", "clustered")
        for batch in ("1", "5")
    ]
    assert all("ratio" in row and row.endswith("agree yes") for row in rows)


def test_json_is_the_benchmarks_document(fdch):
    options = ("--kinds", "random", "--batches", 2, "--bits", "16,512")
    result = fdch("bench", "search", *SMALL, *options, "--json")
    document = json.loads(result.stdout)
    assert [case["bits"] for case in document["scan"]["cases"]] == [16, 512]
    assert [case["bits"] for case in document["compacted"]["cases"]] == [16, 512]
    assert document["scan"]["answers_agree"] is True


def test_codes_of_a_run_are_repeated(fdch, tmp_path):
    codes = np.random.default_rng(0).integers(0, 256, (9, 4), dtype=np.uint8)
    np.savez(
        tmp_path / "codes.npz",
        ids=np.arange(9).astype(np.str_),
        image=codes,
        text=codes,
        has_image=np.ones(9, dtype=bool),
        has_text=np.ones(9, dtype=bool),
        bits=np.int64(32),
        fingerprint=np.str_("a" * 64),
    )
    options = ("--codes", tmp_path / "codes.npz", "--batches", 1, "--parts", "scan")
    shown = fdch("bench", "search", *SMALL, *options).stdout
    [case] = [line for line in shown.splitlines() if " kind " in line]
    assert "kind given, size 2,000, bits 32" in case


@pytest.mark.parametrize(
    ("option", "value", "said", "code"),
    [
        ("--kinds", "randm", "did you mean 'random'", 2),
        ("--parts", "all", "there are: scan, compacted", 2),
        ("--batches", "0", "not in the range x>=1", 2),
        ("--bits", "13", "whole bytes", 1),
        ("--codes", "nothing.npz", "there is no file of codes", 1),
    ],
)
def test_what_cannot_be_measured_is_refused(fdch, option, value, said, code):
    result = fdch("bench", "search", *SMALL, option, value)
    assert result.exit_code == code
    assert said in result.stderr
