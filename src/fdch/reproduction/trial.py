"""One cell's work: fit, encode, score, and what it cost."""

import time
from pathlib import Path
from typing import Any

from fdch.data.splits import Parts
from fdch.errors import SettingError
from fdch.evaluation import Protocol, Scores, score_galleries
from fdch.machine import forget_peak_memory, peak_memory
from fdch.methods._base import HashMethod
from fdch.methods.fdch import FDCH
from fdch.progress import collect_warnings
from fdch.runs.encoding import encode_pairs
from fdch.runs.run import open_run
from fdch.training.context import Context


def measure(
    method: HashMethod,
    parts: Parts,
    protocol: Protocol,
    context: Context,
    donor: Path | None = None,
) -> tuple[Scores, dict[str, Any]]:
    """Fit a method and score it.

    Args:
        method: What to fit, in place.
        parts: The pairs of a split.
        protocol: What the scores are stamped with.
        context: Device and checkpoints; a checkpoint is gone on from.
        donor: A run whose first stage is taken over, where it fits.

    Returns:
        The scores; and seconds, memory and whatever else the work is judged by.
    """
    resumed = context.checkpoints is not None and context.checkpoints.folder.exists()
    forget_peak_memory()
    with collect_warnings() as warned:
        began = time.monotonic()
        shared = _fit(method, parts, context, donor)
        fitted = time.monotonic()
        asking = encode_pairs(method, parts.query, context)
        asked = encode_pairs(method, parts.database, context)
        encoded = time.monotonic()
    figures = {
        "training_seconds": round(fitted - began, 3),
        "encoding_seconds": round(encoded - fitted, 3),
        "encoded_pairs": len(parts.query) + len(parts.database),
        "peak_memory_bytes": peak_memory(),
        "resumed": resumed,
        "stage_one_from": donor.parent.name if donor and shared else None,
        "warnings": warned,
    }
    scores = score_galleries(
        method.name,
        asking.with_labels(parts.query.labels),
        asked.with_labels(parts.database.labels),
        protocol,
    )
    return scores, figures


def _fit(
    method: HashMethod, parts: Parts, context: Context, donor: Path | None
) -> bool:
    """Fit a method; tell whether its first stage was taken from the donor."""
    given = open_run(donor, context).method if donor else None
    if isinstance(given, FDCH) and isinstance(method, FDCH):
        method.share_stage_one(given)
        try:
            method.fit(parts.train, parts.validation, context=context)
            return True
        except SettingError:  # other settings of stage 1: it learns its own
            pass
    method.fit(parts.train, parts.validation, context=context)
    return False
