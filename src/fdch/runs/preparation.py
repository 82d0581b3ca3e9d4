"""What can be found wrong before training begins, and costs nothing to find."""

import os
from pathlib import Path

from fdch.data.pairs import Broken, PairedSet
from fdch.data.static_words import load_embeddings
from fdch.errors import (
    DataError,
    LabelError,
    MissingFile,
    RunError,
    SettingError,
    suggestion,
)
from fdch.evaluation.histograms import MAX_BITS
from fdch.methods._base import HashMethod
from fdch.networks import image as image_networks
from fdch.runs.files import (
    CALIBRATION,
    CHECKPOINTS,
    SEEN,
    SPLIT,
    STATE,
    WEIGHTS,
    is_finished,
)
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import READY, STATIC


def read_pairs(source: str, broken: Broken, context: Context = PLAIN) -> PairedSet:
    """Read data and make sure that every picture can be decoded."""
    pairs = PairedSet.read(source, broken=broken)
    return pairs.without_broken_pictures(broken, context.progress)


def require_ready(method: HashMethod, context: Context) -> None:
    """Refuse codes too long to score, and what the settings name but is not there."""
    if method.bits > MAX_BITS:
        raise SettingError(
            f"codes of {method.bits} bits are too long; {MAX_BITS} is the most."
        )
    context.torch_device()
    if method.image_network not in ("auto", READY):
        image_networks.describe(method.image_network)
        if not method.image_weights:
            image_networks.require_packaged_weights(method.image_network)
    if method.text_features == STATIC:
        load_embeddings()
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
        if absent == ["labels"]:
            kind = LabelError
            advice += ", or take a method that learns from pairs only ('fdch methods')"
        hint = suggestion(absent[0], pairs.columns) or f"; {advice}."
        raise kind(
            f"none of the {len(pairs):,} pairs of '{pairs.name}' has a value for "
            f"{' or '.join(map(repr, absent))}; training needs pairs with all of "
            f"{', '.join(sides)}{hint}"
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
            f"'{out}' holds unfinished training. Add --resume to go on with it, or "
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
