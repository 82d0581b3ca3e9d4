"""The page of `fdch data inspect`: counts, and samples to look at."""

from pathlib import Path

import numpy as np

from fdch import __version__
from fdch.data.pairs import PairedSet
from fdch.report.cards import Card, labels_of, text_of
from fdch.report.inspection import Inspection
from fdch.report.render import picture_uri, write_page

SAMPLES, SIZE = 24, 220
LISTED_LABELS = 40
LISTED_SKIPPED = 200


def write_inspection(
    path: Path, pairs: PairedSet, found: Inspection, seed: int = 0
) -> None:
    """Write counts and random samples to one self-contained HTML file."""
    rows = np.random.default_rng(seed).permutation(len(pairs))[:SAMPLES]
    labels = list(found.labels.items())
    write_page(
        path,
        "inspection.html.j2",
        found=found,
        cards=[_card(pairs, int(row)) for row in np.sort(rows)],
        seed=seed,
        labels=labels[:LISTED_LABELS],
        more_labels=len(labels[LISTED_LABELS:]),
        skipped=found.skipped[:LISTED_SKIPPED],
        more_skipped=len(found.skipped[LISTED_SKIPPED:]),
        notes=pairs.notes,
        version=__version__,
    )


def _card(pairs: PairedSet, row: int) -> Card:
    return Card(
        name=str(pairs.ids[row]),
        text=text_of(pairs, row),
        labels=tuple((name, False) for name in labels_of(pairs, row)),
        picture=picture_uri(pairs, row, SIZE),
    )
