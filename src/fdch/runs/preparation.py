"""Data made ready for training, and what can be refused before training begins."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fdch.data.duplicates import image_digests
from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.images import ImageFeatures, Pictures
from fdch.data.readers.columns import AS_NAMED, Layout
from fdch.data.readers.sources import locate, read
from fdch.data.readers.tables.picture_folder import TABLE_NOTE
from fdch.data.splits import Parts, Split
from fdch.data.static_words import load_embeddings
from fdch.errors import (
    DataError,
    LabelError,
    MissingFile,
    RunError,
    SettingError,
    suggestion,
)
from fdch.evaluation import Protocol
from fdch.methods._base import HashMethod
from fdch.methods._deep import DeepMethod
from fdch.networks import image as image_networks
from fdch.networks.towers import find_text_encoder
from fdch.runs.engines import EngineName
from fdch.runs.run_files import (
    CALIBRATION,
    CHECKPOINTS,
    SEEN,
    SPLIT,
    STATE,
    WEIGHTS,
    is_finished,
)
from fdch.training.context import PLAIN, Context
from fdch.training.devices.processes import count_processes
from fdch.training.inputs import AUTO, READY, STATIC, WORDS, Inputs
from fdch.training.saved_inputs import inputs_to_arrays

# how a folder of pictures holds what a table has in columns
_IN_FOLDERS = {
    "image": "put in pictures",
    "text": "put a .txt with the text beside each picture",
    "labels": "put the pictures into subfolders named after their labels",
}


class TrainingData:
    """Data read once, for one training or for many; its source as users name it."""

    def __init__(
        self,
        source: str,
        broken: Broken = "refuse",
        *,
        needs_labels: bool = True,
        layout: Layout = AS_NAMED,
        context: Context = PLAIN,
    ) -> None:
        self.source, self.broken, self.context = source, broken, context
        self.layout = layout
        pairs = read(source, broken=broken, layout=layout)
        require_sides(pairs, needs_labels)
        self.pairs = pairs.without_broken_pictures(broken, context.progress)

    @cached_property
    def features(self) -> PairedSet:
        """The pairs with features in place of pictures, held in memory."""
        return extract(self.pairs, self.context)

    def pairs_for(self, method: HashMethod) -> PairedSet:
        """Return the pairs as a method learns from them: pictures or features."""
        return self.features if takes_features(method, self.pairs) else self.pairs

    def protocol(self, split: Split, parts: Parts) -> Protocol:
        """Describe how scores of the queries of a split are made."""
        return Protocol(
            data=self.pairs.fingerprint,
            split=split.fingerprint,
            queries=len(parts.query),
            database=len(parts.database),
            train=len(parts.train),
            validation=len(parts.validation),
            seed=split.seed,
            trained_on=self.pairs.fingerprint,
            groups=split.groups or "",
        )

    def describe(self, split: Split, parts: Parts, learned: int) -> dict[str, Any]:
        """Describe the data for a run that learned from `learned` of its pairs."""
        return {
            "data": {
                "source": self.source,
                "location": locate(self.source),
                "name": self.pairs.name,
                "fingerprint": self.pairs.fingerprint,
                "pairs": len(self.pairs),
                "skipped": len(self.pairs.skipped),
                "broken": self.broken,
                **self.layout.to_json(),
            },
            "labels": list(self.pairs.label_names),
            "split": split.fingerprint,
            "train": len(parts.train),
            "unlabelled": learned - len(parts.train),
            "validation": len(parts.validation),
            "device": str(self.context.torch_device()),
        }

    def seen_images(self, split: Split, method: HashMethod) -> list[bytes]:
        """Return the hashes of all images that a method learns from, sorted."""
        parts = split.parts(self.pairs)
        learned = (choose_training_pairs(method, parts).images, parts.validation.images)
        digests = {digest for part in learned for digest in image_digests(part)}
        return sorted(digests - {b""})


def choose_training_pairs(method: HashMethod, parts: Parts) -> PairedSet:
    """Return the pairs of a split that a method learns from."""
    return parts.learning if method.about.uses_unlabelled else parts.train


def read_pairs(
    source: str,
    broken: Broken,
    context: Context = PLAIN,
    engine: EngineName = "local",
    layout: Layout = AS_NAMED,
) -> PairedSet:
    """Read data and make sure that every picture can be decoded.

    With Ray the workers find that out, one part at a time.
    """
    pairs = read(source, broken=broken, layout=layout)
    if engine == "ray":
        return pairs
    return pairs.without_broken_pictures(broken, context.progress)


def complete_reading(
    facts: Mapping[str, Any], source: str | None, layout: Layout, broken: Broken | None
) -> tuple[Layout, Broken]:
    """Complete a layout, and what to do about broken rows, by what a run remembers.

    All but the limit is remembered for the run's own data; for other data, the names
    of columns are used where it has them.
    """
    known = facts.get("data")
    known = known if isinstance(known, dict) else {}
    own = Layout.from_json(known)
    if source is None or known.get("location") != locate(source):
        return replace(layout, usual=own.columns), broken or "refuse"
    columns, pictures = layout.columns or own.columns, layout.pictures or own.pictures
    remembered: Broken = "skip" if known.get("broken") == "skip" else "refuse"
    return Layout(columns, pictures, layout.limit), broken or remembered


def takes_features(method: HashMethod, pairs: PairedSet) -> bool:
    """Return whether a method would turn the pictures into the usual features.

    With a network of its own choice, or one that it trains, it takes pictures.
    """
    return (
        isinstance(pairs.images, Pictures)
        and bool(pairs.images.present.all())
        and method.image_network == "auto"
        and not getattr(method, "finetune", False)
    )


def extract(pairs: PairedSet, context: Context) -> PairedSet:
    """Put the usual features in the place of all pictures."""
    values = Inputs.fit(pairs).images(pairs.images, context)
    return replace(pairs, images=ImageFeatures(np.asarray(values)))


def restore_pictures(
    method: HashMethod, pairs: PairedSet, context: Context
) -> HashMethod:
    """Make a method that was fitted on features of pictures accept pictures.

    What it learned is the same; a run of it can then encode pictures.
    """
    if not takes_features(method, pairs) or method.inputs.image_network != READY:
        return method
    network = Inputs.fit(pairs).image_network
    inputs = replace(method.inputs, image_network=network)
    state = method.state() | inputs_to_arrays(inputs)
    return replace(method).restore(state, context)


def require_ready(method: HashMethod, context: Context) -> None:
    """Refuse what the settings name but is not there."""
    context.torch_device()
    if count_processes() > 1 and not isinstance(method, DeepMethod):
        raise SettingError(
            f"{method.name} trains no networks, so that several processes cannot "
            "share the work. Start it without torchrun."
        )
    if method.image_network not in ("auto", READY):
        image_networks.describe(method.image_network)
        if not method.image_weights:
            image_networks.require_installed(method.image_network)
    if method.text_features == STATIC:
        load_embeddings()
    elif method.text_features not in (AUTO, WORDS):
        find_text_encoder(method.text_features, (AUTO, WORDS, STATIC))
    if method.image_weights and not Path(method.image_weights).is_file():
        raise MissingFile(
            f"there is no file of weights '{method.image_weights}'; check the setting "
            "image_weights."
        )


def require_sides(pairs: PairedSet, needs_labels: bool = True) -> None:
    """Refuse data in which no pair has an image, or a text, or a label if needed."""
    sides = {"image": pairs.images.present.any(), "text": pairs.texts.present.any()}
    if needs_labels:
        sides["labels"] = pairs.labels.any()
    absent = [name for name, is_there in sides.items() if not is_there]
    if absent:
        kind, advice = DataError, "fill in that column"
        if pairs.named_by_path:
            advice = " and ".join(_IN_FOLDERS[name] for name in absent)
        if absent == ["labels"]:
            kind = LabelError
            advice += ", or take a method that learns without labels ('fdch methods')"
        needed = "image, text and labels" if needs_labels else "image and text"
        hint = suggestion(absent[0], pairs.columns) or f"; {advice}."
        tables = [
            note[0].upper() + note[1:]
            for note in pairs.notes
            if note.startswith(TABLE_NOTE)
        ]
        raise kind(
            f"none of the {len(pairs):,} pairs of '{pairs.name}' has a value for "
            f"{' or '.join(map(repr, absent))}; training needs pairs with "
            f"{needed}{hint}{''.join(f' {note}' for note in tables)}"
        )


def require_free_folder(out: Path, resume: bool) -> None:
    """Refuse a folder that holds anything a run would mix with or write over."""
    require_writable(out, "a run")
    if is_finished(out):
        raise RunError(
            f"'{out}' already holds a trained run. Choose another folder, or delete it."
        )
    if (out / CHECKPOINTS).exists() and not resume:
        raise RunError(
            f"'{out}' holds unfinished training. Add --resume to continue it, or "
            "choose another folder."
        )
    own = {STATE, SPLIT, SEEN, CALIBRATION, CHECKPOINTS}
    there = [path.name for path in out.iterdir()] if out.exists() else []
    there = [name for name in there if Path(name).stem != WEIGHTS]
    others = [n for n in there if n not in own and not n.endswith(".partial")]
    if others:
        raise RunError(
            f"'{out}' holds other files, such as '{min(others)}'. Give the run a "
            "folder of its own."
        )


def require_writable(out: Path, what: str) -> None:
    """Find out before training, not after it, and without leaving a trace."""
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise RunError(
            f"{what} cannot be written to '{out}': '{there}' is not a folder that may "
            "be written to. Choose another folder."
        )
