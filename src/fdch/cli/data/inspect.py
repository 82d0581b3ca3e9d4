"""`fdch data inspect`: what is in the data, and what is wrong with it."""

from pathlib import Path
from typing import TYPE_CHECKING

from fdch.cli.shared import options
from fdch.cli.shared.column_lines import column_lines
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import (
    count,
    lay_out,
    note,
    plain,
    report,
    require_place,
    show_reason,
    show_some,
)
from fdch.cli.shared.progress_lines import ProgressPrinter

if TYPE_CHECKING:
    from fdch.report.inspection import Inspection

LISTED_LABELS = 20


@options.command("inspect", "fdch data inspect scenes:100 --page samples.html")
@options.data
@option("--page", "Write a page of samples with pictures.", PATH)
@options.layout
@options.broken("skip", "List broken rows and pictures, or refuse at the first.")
@options.types
@options.json
def command(
    data: str,
    page: Path | None,
    layout: "options.Layout",
    broken: "options.Broken",
    types: "tuple[tuple[str, options.ColumnType], ...]",
    as_json: bool,
) -> None:
    """Count pairs, labels, words and cells; find broken files.

    Chance mAP is the score of a random ranking; a method is worth what it scores
    above it.
    """
    if page is not None:
        page = require_place(page, ".html", ".htm", inputs=[data])
    from fdch.data.readers import sources
    from fdch.report.inspection import inspect_pairs, write_inspection

    with ProgressPrinter() as progress:
        pairs = sources.read(data, broken=broken, layout=layout)
        pairs = pairs.without_broken_pictures(broken, progress)
    for text in pairs.notes:
        note(f"note: {text}")
    found = inspect_pairs(pairs, types=dict(types))
    if page is not None:
        write_inspection(page, pairs, found)
        note(f"page: {page}")
    document = found.to_json() | {"notes": list(pairs.notes)}
    report(
        document,
        as_json,
        f"{found.name}, fingerprint {found.fingerprint}",
        *(f"{name:<18} {value}" for name, value in _facts(found)),
        f"\n{_label_table(found)}",
        *column_lines(found.columns),
        *_broken_rows(found),
    )


def _label_table(found: "Inspection") -> str:
    whole = max(found.pairs, 1)
    labels = list(found.labels.items())
    rows = (
        (plain(name, 40), f"{number:>9,}", f"{number / whole:>6.1%}")
        for name, number in labels[:LISTED_LABELS]
    )
    more = len(labels) - LISTED_LABELS
    notes = (f"and {more:,} more labels",) if more > 0 else ()
    return lay_out(("label", f"{'pairs':>9}", " share"), rows, notes)


def _broken_rows(found: "Inspection") -> list[str]:
    if not found.skipped:
        return []
    lines = show_some(
        found.skipped, lambda row: show_reason(*row), "more; --json lists all"
    )
    return [
        "\nbroken rows, left out of all counts above:",
        *(f"  {line}" for line in lines),
    ]


def _facts(found: "Inspection") -> list[tuple[str, str]]:
    facts = [
        ("pairs", f"{found.pairs:,}, {found.training}"),
        ("with an image", f"{found.with_image:,} ({found.images})"),
        ("with a text", f"{found.with_text:,}"),
        ("with a label", f"{found.with_label:,} ({len(found.labels):,} labels)"),
        ("broken rows", f"{len(found.skipped):,}"),
    ]
    if found.labels_per_pair is not None:
        facts.append(("labels per pair", str(found.labels_per_pair)))
    if found.chance is not None:
        sample = "" if found.chance.exact else ", from a sample"
        shown = f"{found.chance.map:.4f}, a random ranking's{sample}"
        facts.append(("chance mAP", shown))
    facts.append(("different words", f"{found.words:,}"))
    if found.words_per_text is not None:
        facts.append(("words per text", str(found.words_per_text)))
    if found.frequent_words:
        words = ", ".join(map(plain, found.frequent_words))
        facts.append(("frequent words", plain(words, 100)))
    if found.picture_sizes is not None:
        facts.append(("longer side", f"{found.picture_sizes} pixels (sample)"))
    if found.picture_bytes is not None:
        facts.append(("picture", f"{found.picture_bytes} bytes (sample)"))
    for side, part in found.duplicates.items():
        shown = "none"
        if part.groups:
            groups = count(part.groups, "group")
            shown = f"{part.pairs:,} pairs in {groups}, the largest of {part.largest:,}"
        facts.append((f"identical {side}", shown))
    return facts
