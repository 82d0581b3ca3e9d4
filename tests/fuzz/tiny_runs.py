"""Tiny runs of every method, trained on made-up pairs in a second or less."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from fdch import methods
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences, Vocabulary
from fdch.files import checksum
from fdch.runs.run import Run, open_run, save_run
from fdch.runs.run_files import DESCRIPTION

BITS, COLUMNS, LABELS = 4, 4, 3
WORDS = ("dog", "cat", "boat", "tree", "red", "猫")
# sizes for few pairs; each method takes those that are among its settings
TINY: dict[str, Any] = {
    "bits": BITS,
    "fusion_width": 4,
    "image_hidden": 2,
    "text_hidden": 3,
    "fusion_hidden": 2,
    "stage_one_epochs": 1,
    "stage_two_epochs": 1,
    "label_epochs": 1,
    "pair_epochs": 1,
    "label_bytes": 1,
    "pair_bytes": 1,
    "pair_width": 2,
    "epochs": 1,
    "batch_size": 20,
    "anchors": 5,
    "centroids": 10,
    "atoms": 5,
    "components": 2,
    "iterations": 2,
    "text_features": "words",
}


def tiny_pairs(count: int = 40) -> PairedSet:
    """Make pairs of random numbers and words, which say something of the labels."""
    rng = np.random.default_rng(0)
    labels = np.eye(LABELS, dtype=np.uint8)[np.arange(count) % LABELS]
    images = rng.standard_normal((count, COLUMNS)) + 2 * labels @ np.eye(
        LABELS, COLUMNS
    )
    owned = [WORDS[2 * row.argmax() : 2 * row.argmax() + 2] for row in labels]
    texts = [" ".join([rng.choice(own), rng.choice(WORDS)]) for own in owned]
    return PairedSet(
        ids=np.array([str(row) for row in range(count)], dtype=object),
        images=ImageFeatures(images.astype(np.float32)),
        texts=Sentences(texts, Vocabulary(WORDS)),
        labels=labels,
        label_names=("a", "b", "c"),
        name="made up",
    )


def make_run(
    folder: Path, name: str, pairs: PairedSet | None = None, **settings: Any
) -> Run:
    """Train a method, on tiny pairs unless others are given, and save it."""
    kind = methods.load(name)
    known = {field.name for field in fields(kind) if field.init}
    chosen = {key: value for key, value in TINY.items() if key in known}
    method = kind(**chosen | settings).fit(tiny_pairs() if pairs is None else pairs)
    return save_run(folder, method, seen=[b"0123456789abcdef"])


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """Put other bytes into a file of a run, with the checksum that they have."""
    (folder / name).write_bytes(content)
    facts = json.loads((folder / DESCRIPTION).read_text("utf-8"))
    facts["files"][name] = checksum(folder / name)
    (folder / DESCRIPTION).write_text(json.dumps(facts), "utf-8")


def use_run(folder: Path) -> None:
    """Open a run, encode with it, and order what it gives by what it stores."""
    run, pairs = open_run(folder), tiny_pairs(3)
    method = run.method
    texts = method.encode_texts(pairs.texts)
    method.encode_images(pairs.images)
    if method.about.unified:
        method.encode_pairs(pairs)
    if (ordering := method.ordering) is None:
        return
    assert isinstance(pairs.images, ImageFeatures)
    images, words = pairs.images.values, method.inputs.texts(pairs.texts)
    stored = ordering.pair_vectors(images, words)
    ordering.image_vectors(images)
    for order in (
        ordering.weigh_texts(words),
        ordering.weigh_images(images),
        ordering.weigh_items(texts, ordering.text_vectors(words)),
    ):
        order.score(texts, stored)
