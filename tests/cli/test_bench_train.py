"""`fdch bench train`: a table, a document."""

import json

import pytest

pytestmark = pytest.mark.integration

SMALL = (
    *("--pairs", 150, "--image-width", 40, "--words", 30, "--bits", 8),
    *("--epochs", 2, "--device", "cpu"),
)
NAMES = ("stages:", "peer:")


def test_lines_show_both_stages_and_the_plain_loop(fdch):
    result = fdch("bench", "train", *SMALL, "--repeats", 1)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    own, peer = (next(i for i, x in enumerate(lines) if x.startswith(n)) for n in NAMES)
    assert own < peer
    for part in (lines[own:peer], lines[peer:]):
        for name in ("stage 1", "stage 2"):
            assert any(line.startswith(f"  {name}: ") for line in part)
    assert "times the floor" in lines[own + 1] and "busy share" in lines[own + 1]
    assert "ratio" in lines[peer]


def test_a_document_holds_all_turns(fdch):
    result = fdch("bench", "train", *SMALL, "--repeats", 2, "--json")
    document = json.loads(result.stdout)
    assert document["device"] == "cpu"
    assert document["threads"] >= 1
    for stage in document["stages"].values():
        for reported in ("first_epoch_seconds", "epoch_seconds", "pairs_per_second"):
            assert len(stage[reported]["all"]) == 2
    assert len(document["peer"]["ratio"]["all"]) == 2
    assert document["peak_device_memory_bytes"] is None


@pytest.mark.parametrize("wrong", [("--epochs", 1), ("--repeats", 0), ("--pairs", 0)])
def test_sizes_that_measure_nothing_are_refused(fdch, wrong):
    result = fdch("bench", "train", *wrong)
    assert result.exit_code == 2
    assert "is not in the range" in result.stderr
