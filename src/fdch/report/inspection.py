"""Counts and distributions of data before training, and their page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch import __version__
from fdch.data.duplicates import SIDES, Duplicates, count_duplicates, side_digests
from fdch.data.pairs import PairedSet
from fdch.data.pictures.decoding import picture_size
from fdch.data.pictures.images import ImageFeatures, Pictures
from fdch.data.texts import Sentences, Vocabulary, WordVectors
from fdch.evaluation import Histograms, chance
from fdch.index.column_types import describe_column, require_typed_columns
from fdch.index.decimal_commas import read_decimal_commas
from fdch.index.store import Cell, ColumnFacts, ColumnType
from fdch.report.render import show_pair, write_page

MAX_PATTERNS = 4096
SAMPLED_QUERIES = 2000
SAMPLED_PICTURES = 200
LISTED_WORDS, LISTED_LABELS, LISTED_SKIPPED = 30, 40, 200
SAMPLES, SIZE = 24, 220  # of pairs on the page, and of their pictures


@dataclass(frozen=True)
class Range:
    """The least, the middle and the most of a number of values."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, values: "NDArray[Any] | Sequence[float]") -> "Range | None":
        """Measure values; None where there are none."""
        if not len(values):
            return None
        return cls(float(min(values)), float(np.median(values)), float(max(values)))

    def __str__(self) -> str:
        return f"{self.least:,.6g} to {self.most:,.6g}, median {self.median:,.6g}"


@dataclass(frozen=True)
class Chance:
    """Scores of random rankings, with each labelled pair as a query for the others."""

    map: float  # mean average precision of random rankings
    queries: int  # pairs that the mean is over: those that share a label with another
    exact: bool  # whether these are all such pairs, not a sample


@dataclass(frozen=True)
class Inspection:
    """Counts and distributions of a PairedSet."""

    name: str  # what the data is called
    fingerprint: str  # of the pairs that can be used
    pairs: int  # how many these are
    with_image: int  # those with a picture or image features
    with_text: int  # those with a text
    with_label: int  # those with a label
    trainable: int  # those with a picture and a text
    supervised: int  # those of them with a label
    skipped: tuple[tuple[str, str], ...]  # rows left out, with their reasons
    labels: dict[str, int]  # how many pairs have each label, most frequent first
    labels_per_pair: Range | None  # over all pairs
    chance: Chance | None  # what a random ranking scores; None without labels
    words: int  # different words, or columns of ready vectors
    frequent_words: dict[str, int]  # with the texts they occur in
    words_per_text: Range | None  # over texts, of the words counted
    images: str  # "pictures", or "features of n columns"
    picture_sizes: Range | None  # over a sample, each picture's longer side in pixels
    picture_bytes: Range | None  # over the same sample
    duplicates: dict[str, Duplicates]  # by side: "pictures" and "texts"
    columns: dict[str, ColumnFacts]  # further ones, for filters and display

    @property
    def training(self) -> str:
        """How many pairs methods can learn from, in words."""
        if self.supervised == self.trainable:
            return f"{self.trainable:,} fit for training"
        return f"{self.trainable:,} fit for training, {self.supervised:,} with a label"

    def to_json(self) -> dict[str, Any]:
        """Return plain values by name."""
        skipped = [{"row": row, "reason": reason} for row, reason in self.skipped]
        columns = {name: facts.to_json() for name, facts in self.columns.items()}
        return asdict(self) | {"skipped": skipped, "columns": columns}


def inspect_pairs(
    pairs: PairedSet, seed: int = 0, types: Mapping[str, ColumnType] | None = None
) -> Inspection:
    """Count what a PairedSet holds, large sets by samples drawn from the seed.

    `types` says how columns are compared; those of other columns are found.
    """
    types = types or {}
    require_typed_columns(types, pairs.columns)
    random = np.random.default_rng(seed)
    counts = pairs.labels.sum(axis=0, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")
    image, text = pairs.images.present, pairs.texts.present
    labelled = pairs.labels.any(axis=1)
    words, frequent, lengths = _words(pairs)
    kind = "pictures"
    if isinstance(pairs.images, ImageFeatures):
        kind = f"features of {pairs.images.values.shape[1]:,} columns"
    sizes, weights = _pictures(pairs, random)
    return Inspection(
        name=pairs.name,
        fingerprint=pairs.fingerprint,
        pairs=len(pairs),
        with_image=int(image.sum()),
        with_text=int(text.sum()),
        with_label=int(labelled.sum()),
        trainable=int((image & text).sum()),
        supervised=int((image & text & labelled).sum()),
        skipped=tuple((row.name, row.reason) for row in pairs.skipped),
        labels={pairs.label_names[i]: int(counts[i]) for i in order},
        labels_per_pair=Range.of(pairs.labels.sum(axis=1, dtype=np.int64)),
        chance=label_chance(pairs.labels[labelled], random),
        words=words,
        frequent_words=frequent,
        words_per_text=Range.of(lengths[text]),
        images=kind,
        picture_sizes=Range.of(sizes),
        picture_bytes=Range.of(weights),
        duplicates={
            side: count_duplicates(side_digests(pairs, side)) for side in SIDES
        },
        columns={
            name: facts
            for name, cells in read_decimal_commas(pairs.columns, chosen=types).items()
            if (facts := describe_column(_name_cells(pairs, cells), types.get(name)))
        },
    )


def _name_cells(
    pairs: PairedSet, cells: NDArray[np.object_]
) -> Iterator[tuple[str, Cell]]:
    return zip(map(str, pairs.ids), cells, strict=True)


def label_chance(
    labels: NDArray[np.uint8], random: np.random.Generator
) -> Chance | None:
    """Score random rankings, each labelled pair being a query for all others.

    Pairs with equal labels share everything, so patterns of labels are compared
    in place of pairs: all of them, or a sample where there are very many. None
    where no two pairs share a label.

    >>> label_chance(np.eye(2, dtype=np.uint8)[[0, 0, 1]], np.random.default_rng(0))
    Chance(map=0.75, queries=2, exact=True)
    """
    if len(labels) < 2:
        return None
    patterns, members = np.unique(labels, axis=0, return_counts=True)
    exact = len(patterns) <= MAX_PATTERNS
    queries, weights = patterns, members
    if not exact:
        queries = labels[random.choice(len(labels), SAMPLED_QUERIES, replace=False)]
        weights = np.ones(len(queries), dtype=members.dtype)
    shares = (queries.astype(np.float32) @ patterns.T.astype(np.float32)) > 0
    relevant = (shares @ members) - 1
    others = np.full_like(relevant, len(labels) - 1)
    weights = weights * (relevant > 0)
    if not weights.any():
        return None
    scores = np.nan_to_num(chance(Histograms(others[:, None], relevant[:, None])))
    return Chance(float(weights @ scores / weights.sum()), int(weights.sum()), exact)


def _words(pairs: PairedSet) -> tuple[int, dict[str, int], NDArray[np.int64]]:
    """Count known words, texts with each of the most frequent, words per text."""
    if isinstance(pairs.texts, Sentences):
        vocabulary = pairs.texts.vocabulary or Vocabulary.fit(pairs.texts)
        matrix, names = vocabulary.vectors(pairs.texts), vocabulary.words
    else:
        assert isinstance(pairs.texts, WordVectors)
        matrix, names = pairs.texts.matrix, ()
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    order = np.argsort(-counts, kind="stable")[: LISTED_WORDS if names else 0]
    frequent = {names[i]: int(counts[i]) for i in order if counts[i]}
    return int(matrix.shape[1]), frequent, np.diff(matrix.indptr).astype(np.int64)


def _pictures(
    pairs: PairedSet, random: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Return the longer side and the bytes of a sample of pictures."""
    if not isinstance(pairs.images, Pictures):
        return [], []
    rows = np.flatnonzero(pairs.images.present)
    sides, weights = [], []
    for row in random.permutation(rows)[:SAMPLED_PICTURES]:
        content = pairs.images.content(int(row))
        if isinstance(content, np.ndarray):
            sides.append(max(content.shape[:2]))
            weights.append(content.nbytes)
            continue
        sides.append(max(picture_size(content, pairs.images.limits)))
        weights.append(len(content))
    return sides, weights


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
        cards=[show_pair(pairs, int(row), SIZE) for row in np.sort(rows)],
        seed=seed,
        labels=labels[:LISTED_LABELS],
        more_labels=len(labels[LISTED_LABELS:]),
        skipped=found.skipped[:LISTED_SKIPPED],
        more_skipped=len(found.skipped[LISTED_SKIPPED:]),
        notes=pairs.notes,
        version=__version__,
    )
