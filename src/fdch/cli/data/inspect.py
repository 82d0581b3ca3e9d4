"""`fdch data inspect`: what is in the data, and what is wrong with it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdch.cli.shared.options import (
    DataName,
    broken_option,
    example,
    file_option,
    json_option,
)
from fdch.cli.shared.output import (
    NAMED,
    count,
    note,
    plain,
    require_place,
    say,
    say_json,
)
from fdch.cli.shared.progress_lines import ProgressPrinter

if TYPE_CHECKING:
    from fdch.data.pairs import Broken
    from fdch.report.inspection import Inspection

LISTED_LABELS = 20


@click.command(
    "inspect", epilog=example("fdch data inspect scenes:100 --page samples.html")
)
@click.argument("data", type=DataName())
@file_option("--page", help="Write a page of samples with pictures.")
@broken_option("skip", "List broken rows and pictures, or refuse at the first.")
@json_option
def command(data: str, page: Path | None, broken: "Broken", as_json: bool) -> None:
    """Count pairs, labels and words; find broken files.

    Chance mAP is the score of a random ranking; a method is worth what it scores
    above it.
    """
    if page is not None:
        page = require_place(page, ".html", ".htm", inputs=[data])
    from fdch.data.pairs import PairedSet
    from fdch.report.inspection import inspect_pairs

    with ProgressPrinter() as progress:
        pairs = PairedSet.read(data, broken=broken)
        pairs = pairs.without_broken_pictures(broken, progress)
    for text in pairs.notes:
        note(f"note: {text}")
    found = inspect_pairs(pairs)
    if page is not None:
        from fdch.report.inspection import write_inspection

        write_inspection(page, pairs, found)
        note(f"page: {page}")
    if as_json:
        say_json(found.to_json() | {"notes": list(pairs.notes)})
    else:
        say_inspection(found)


def say_inspection(found: "Inspection") -> None:
    """Print counts, then labels, then broken rows."""
    from fdch.evaluation.tables import Table

    say(f"{found.name}, fingerprint {found.fingerprint}")
    for name, value in _facts(found):
        say(f"{name:<18} {value}")
    say()
    whole = max(found.pairs, 1)
    labels = list(found.labels.items())
    rows = tuple(
        (plain(name, 40), f"{number:>9,}", f"{number / whole:>6.1%}")
        for name, number in labels[:LISTED_LABELS]
    )
    more = len(labels) - LISTED_LABELS
    notes = (f"and {more:,} more labels",) if more > 0 else ()
    say(Table(("label", f"{'pairs':>9}", " share"), rows, notes))
    say_skipped(found.skipped)


def say_skipped(skipped: tuple[tuple[str, str], ...]) -> None:
    """Print broken rows, the first few by name."""
    if not skipped:
        return
    say("\nbroken rows, left out of all counts above:")
    for row, reason in skipped[:NAMED]:
        say(f"  {plain(row, 60)}: {plain(reason, 300)}")
    if len(skipped) > NAMED:
        say(f"  and {len(skipped) - NAMED:,} more; --json lists all")


def _facts(found: "Inspection") -> list[tuple[str, str]]:
    facts = [
        ("pairs", f"{found.pairs:,}, {found.trainable:,} of them fit for training"),
        ("with an image", f"{found.with_image:,} ({found.images})"),
        ("with a text", f"{found.with_text:,}"),
        ("with a label", f"{found.with_label:,} ({len(found.labels):,} labels)"),
        ("broken rows", f"{len(found.skipped):,}"),
    ]
    if found.labels_per_pair is not None:
        facts.append(("labels per pair", str(found.labels_per_pair)))
    if found.chance is not None:
        sample = "" if found.chance.exact else ", from a sample"
        facts.append(
            ("chance mAP", f"{found.chance.map:.4f}, a random ranking's{sample}")
        )
    facts.append(("different words", f"{found.words:,}"))
    if found.words_per_text is not None:
        facts.append(("words per text", str(found.words_per_text)))
    if found.frequent_words:
        words = ", ".join(plain(word) for word in found.frequent_words)
        facts.append(("frequent words", plain(words, 100)))
    if found.picture_sizes is not None:
        facts.append(("longer side", f"{found.picture_sizes} pixels (sample)"))
    if found.picture_bytes is not None:
        facts.append(("picture", f"{found.picture_bytes} bytes (sample)"))
    for side, part in found.duplicates.items():
        shown = "none"
        if part.groups:
            shown = (
                f"{part.pairs:,} pairs in {count(part.groups, 'group')}, "
                f"the largest of {part.largest:,}"
            )
        facts.append((f"identical {side}", shown))
    return facts
