"""The model card says what was learned from, how well, and what that is worth."""

from dataclasses import replace

import pytest

from fdch.errors import DamagedRun
from fdch.runs.method_scores import evaluate_run
from fdch.runs.model_card import CARD, describe_run, write_card


def with_facts(run, **changes):
    return replace(run, facts={**run.facts, **changes})


def test_training_leaves_a_card(trained):
    card = (trained.folder / CARD).read_text("utf-8")
    assert card.startswith("# fdch, 16 bits\n")
    assert f"`{trained.fingerprint}`" in card
    assert f"| for training | {trained.facts['train']:,} with labels |" in card
    assert "`learning_rate=0.02`" in card  # not the default
    assert "`seed" not in card
    assert "Not evaluated yet: run `fdch evaluate run`" in card
    shown = trained.facts["validation_map"]["modality"]["image_to_text"]
    assert f"| modality | image → text | {shown:.4f} |" in card


def test_an_evaluation_replaces_the_scores(trained):
    scores = evaluate_run(trained).scores
    write_card(trained, scores)
    card = (trained.folder / CARD).read_text("utf-8")
    assert "Not evaluated yet" not in card
    assert str(scores.protocol) in card
    for gallery, directions in scores.scores.items():
        part = directions["text_to_image"]
        low, high = part.intervals["map"]
        row = f"| {gallery} | text → image | {part.map:.4f} | {low:.4f} to {high:.4f}"
        assert f"{row} | {part.precision_at[10]:.4f} |" in card
    assert f"Chance is {scores.to_json()['chance']:.4f}" in card


def test_limits_follow_what_the_run_has(trained):
    assert "Probabilities were fitted on" in describe_run(trained)
    bare = with_facts(replace(trained, calibration=None), labels=[])
    card = describe_run(bare)
    assert "It states no probabilities" in card
    assert "from no label" in card


def test_many_labels_are_counted(trained):
    card = describe_run(with_facts(trained, labels=[f"kind {i}" for i in range(1000)]))
    assert "| labels | 1,000: kind 0, " in card
    assert "kind 19 and 980 more |" in card


def test_names_from_data_stay_in_their_cells(trained):
    data = trained.facts["data"] | {"name": "a|b\n# c\x1b[1m`<script>` " + "x" * 500}
    card = describe_run(with_facts(trained, data=data))
    [row] = [line for line in card.splitlines() if line.startswith("| data |")]
    assert row.count("|") == 3
    assert "\x1b" not in row and "<script>" not in row
    assert len(row) < 300


def test_facts_that_are_not_there_are_reported(trained):
    with pytest.raises(DamagedRun, match=r"run\.json.*missing or unfit.*labels"):
        facts = {key: trained.facts[key] for key in trained.facts if key != "labels"}
        describe_run(replace(trained, facts=facts))
