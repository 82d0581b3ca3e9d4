"""The model card of a run: data, scores and limits, for people, in Markdown.

Written when training ends, and again when `fdch evaluate` saves scores. Programs read
run.json and scores.json, which have the same facts and more.
"""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fdch.errors import DamagedRun
from fdch.evaluation import DIRECTIONS, Scores
from fdch.evaluation.measures import flatten
from fdch.files import write_bytes
from fdch.runs.run import Run
from fdch.runs.run_files import DESCRIPTION

CARD = "model-card.md"
MAX_LABELS = 20  # shown by name
MAX_LETTERS = 80  # of one name


def write_card(run: Run, scores: Scores | None = None) -> Path:
    """Write the card into the run's folder, with scores where there are any."""
    path = run.folder / CARD
    write_bytes(path, describe_run(run, scores).encode())
    return path


def describe_run(run: Run, scores: Scores | None = None) -> str:
    """Return the card as Markdown."""
    method, data = describe_training(run)
    lines = [f"# {run.name}, {run.method.bits} bits\n", *_table(method)]
    lines += ["\n## Data\n", *_table(data), "\n## Scores\n"]
    with _report_damage(run):
        return "\n".join([*lines, *_scores(run, scores), *_limits(run)])


def describe_training(run: Run) -> tuple[dict[str, str], dict[str, str]]:
    """Describe the method of a run, then its data, for the card and for pages."""
    with _report_damage(run):
        return _describe_method(run), _describe_data(run.facts)


@contextmanager
def _report_damage(run: Run) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise DamagedRun(
            f"'{run.folder / DESCRIPTION}' has missing or unfit fields "
            f"({type(problem).__name__}: {problem}). Train the run again."
        ) from problem


def _table(rows: Mapping[str, str]) -> list[str]:
    head = "| | |\n| --- | --- |"
    return [head, *(f"| {name} | {value} |" for name, value in rows.items())]


def _describe_method(run: Run) -> dict[str, str]:
    method, facts = run.method, run.facts
    changed = {
        name: value
        for name, value in method.changed_settings().items()
        if name not in ("bits", "seed")
    }
    rows = {
        "method": f"{run.name}: {method.about.paper}",
        "learns from": method.about.supervision,
        "codes": f"{method.bits} bits, {-(-method.bits // 8)} bytes an item",
        "fingerprint": f"`{run.fingerprint}`",
        "seed": str(method.seed),
        "settings besides the defaults": _assignments(changed) or "none",
    }
    if facts.get("chosen"):
        rows["chosen by the data"] = _assignments(facts["chosen"])
    device = _plain(facts.get("device", "an unknown device"))
    rows["trained"] = f"in {facts['seconds']:,} seconds on {device}"
    versions = [_plain(f"{name} {at}") for name, at in facts["versions"].items()]
    return rows | {"made with": ", ".join(versions)}


def _describe_data(facts: Mapping[str, Any]) -> dict[str, str]:
    data, labels = facts["data"], facts["labels"]
    skipped = f"; {data['skipped']:,} broken ones skipped" if data["skipped"] else ""
    learned = f"{facts['train']:,} with labels"
    if facts.get("unlabelled"):
        learned += f", {facts['unlabelled']:,} without labels"
    named = ", ".join(_plain(label) for label in labels[:MAX_LABELS])
    more = f" and {len(labels) - MAX_LABELS:,} more" if labels[MAX_LABELS:] else ""
    return {
        "data": f"{_plain(data['name'])} (`{_plain(data['source'])}`)",
        "fingerprint": f"`{data['fingerprint']}`, split `{facts['split']}`",
        "pairs": f"{data['pairs']:,}{skipped}",
        "for training": learned,
        "for validation": f"{facts['validation']:,}",
        "labels": f"{len(labels):,}{': ' if labels else ''}{named}{more}",
    }


def _assignments(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key}={_plain(value)}`" for key, value in settings.items())


def _scores(run: Run, scores: Scores | None) -> Iterator[str]:
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
    yield f"By this protocol: {scores.protocol}.\n"
    yield "| gallery | direction | mAP | 95 % interval | P@10 | NDCG@10 |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for gallery, direction, part in flatten(scores.scores):
        ends = " to ".join(f"{end:.4f}" for end in part.intervals.get("map", ()))
        ranked = part.precision_at.get(10, 0.0), part.ndcg_at.get(10, 0.0)
        cells = f"{part.map:.4f} | {ends} | {ranked[0]:.4f} | {ranked[1]:.4f}"
        yield f"| {gallery} | {DIRECTIONS[direction]} | {cells} |"
    yield f"\nChance is {scores.chance:.4f}: the mAP of random codes."


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
