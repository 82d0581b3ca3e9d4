"""The model card of a run: data, scores and limits, for people, in Markdown.

Written when training ends, and again when `fdch evaluate` saves scores. Programs read
run.json and scores.json, which have the same facts and more.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from fdch.errors import DamagedRun
from fdch.evaluation import DIRECTIONS, Scores
from fdch.files import write_bytes
from fdch.runs.run import Run
from fdch.runs.run_files import DESCRIPTION

CARD = "model-card.md"
FIRST_TEN = ("precision_at", "ndcg_at")
MAX_LABELS = 20  # shown by name
MAX_LETTERS = 80  # of one name


def write_card(run: Run, scores: Scores | None = None) -> Path:
    """Write the card into the run's folder, with scores where there are any."""
    path = run.folder / CARD
    write_bytes(path, describe_run(run, scores).encode())
    return path


def describe_run(run: Run, scores: Scores | None = None) -> str:
    """Return the card as Markdown."""
    parts = (_about(run), _data(run.facts), _scores(run, scores), _limits(run))
    try:
        return "\n".join(line for part in parts for line in part)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise DamagedRun(
            f"'{run.folder / DESCRIPTION}' has missing or unfit fields "
            f"({type(problem).__name__}: {problem}). Train the run again."
        ) from problem


def _about(run: Run) -> Iterator[str]:
    method, facts = run.method, run.facts
    yield f"# {run.name}, {method.bits} bits\n"
    yield "| | |\n| --- | --- |"
    yield f"| method | {run.name}: {method.about.paper} |"
    yield f"| learns from | {method.about.supervision} |"
    yield f"| codes | {method.bits} bits, {-(-method.bits // 8)} bytes an item |"
    yield f"| fingerprint | `{run.fingerprint}` |"
    yield f"| seed | {method.seed} |"
    changed = [
        f"`{each.name}={_plain(getattr(method, each.name))}`"
        for each in fields(method)
        if each.name not in ("bits", "seed")
        and getattr(method, each.name) != each.default
    ]
    yield f"| settings besides the defaults | {', '.join(changed) or 'none'} |"
    chosen = [
        f"`{key}={_plain(value)}`" for key, value in facts.get("chosen", {}).items()
    ]
    if chosen:
        yield f"| chosen by the data | {', '.join(chosen)} |"
    device = _plain(facts.get("device", "an unknown device"))
    yield f"| trained | in {facts['seconds']:,} seconds on {device} |"
    versions = [_plain(f"{name} {at}") for name, at in facts["versions"].items()]
    yield f"| made with | {', '.join(versions)} |"


def _data(facts: Mapping[str, Any]) -> Iterator[str]:
    data, labels = facts["data"], facts["labels"]
    yield "\n## Data\n\n| | |\n| --- | --- |"
    yield f"| data | {_plain(data['name'])} (`{_plain(data['source'])}`) |"
    yield f"| fingerprint | `{data['fingerprint']}`, split `{facts['split']}` |"
    skipped = f"; {data['skipped']:,} broken ones skipped" if data["skipped"] else ""
    yield f"| pairs | {data['pairs']:,}{skipped} |"
    yield f"| for training | {facts['train']:,} with labels |"
    if facts.get("unlabelled"):
        yield f"| | {facts['unlabelled']:,} without labels |"
    yield f"| for validation | {facts['validation']:,} |"
    named = ", ".join(_plain(label) for label in labels[:MAX_LABELS])
    more = f" and {len(labels) - MAX_LABELS:,} more" if labels[MAX_LABELS:] else ""
    yield f"| labels | {len(labels):,}{': ' if labels else ''}{named}{more} |"


def _scores(run: Run, scores: Scores | None) -> Iterator[str]:
    yield "\n## Scores\n"
    if scores is None:
        folder = shlex.quote(run.folder.name)
        yield (
            f"Not evaluated yet: run `fdch evaluate {_plain(folder)}`. On the "
            "validation pairs, which settings may have been chosen by:\n"
        )
        yield "| gallery | direction | mAP |\n| --- | --- | --- |"
        for gallery, maps in run.facts["validation_map"].items():
            for key, value in maps.items():
                yield f"| {_plain(gallery)} | {DIRECTIONS[key]} | {value:.4f} |"
        return
    document = scores.to_json()
    yield f"By this protocol: {scores.protocol}.\n"
    yield "| gallery | direction | mAP | 95 % interval | P@10 | NDCG@10 |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for gallery, directions in document["scores"].items():
        for key, part in directions.items():
            cells = (
                gallery,
                DIRECTIONS[key],
                f"{part['map']:.4f}",
                " to ".join(f"{end:.4f}" for end in part["intervals"].get("map", ())),
                *(f"{part[name].get('10', 0):.4f}" for name in FIRST_TEN),
            )
            yield f"| {' | '.join(cells)} |"
    yield f"\nChance is {document['chance']:.4f}: the mAP of random codes."


def _limits(run: Run) -> Iterator[str]:
    facts = run.facts
    yield "\n## Limits\n"
    yield (
        "- Scores hold for queries drawn as these were, from the same data. Other "
        "pictures and texts may score lower: `fdch evaluate RUN DATA` says how much."
    )
    if run.method.about.uses_labels and facts["labels"]:
        yield (
            "- Alike means: shares a label of the list above. What no label says is "
            "hardly learned, and mistakes of the labels are learned too."
        )
    else:
        yield "- It has learned which picture and text belong together, from no label."
    yield (
        "- Texts in another language, or of words that training did not have, say "
        "little or nothing to it."
    )
    if run.calibration is None:
        yield "- It states no probabilities: too few validation pairs to fit them on."
    else:
        yield (
            f"- Probabilities were fitted on {facts['validation']:,} validation pairs; "
            "`fdch evaluate` compares them with the truth."
        )
    yield (
        "- The folder holds no picture and no text of the training, but hashes of its "
        "pictures (seen.npy), its ids (split.json), its words and its labels.\n"
    )


def _plain(value: object) -> str:
    """Write a value from outside so that it stays in its cell of a table."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    shown = "".join(
        letter if letter.isprintable() and letter not in "|`<>[]\\" else " "
        for letter in text
    )
    return shown if len(shown) <= MAX_LETTERS else shown[: MAX_LETTERS - 1] + "…"
