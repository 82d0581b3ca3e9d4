"""Scores in a folder: the document, and every query's own scores beside it.

scores.json             what `fdch evaluate --json` writes
queries.safetensors     lists of float32, one to each mean of the document
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fdch.errors import DataError
from fdch.evaluation.scores import Key, Scores, Values, without_nan
from fdch.files import load_json, write_json, write_whole

SCORES, QUERIES = "scores.json", "queries.safetensors"
MAX_BYTES = 64 * 2**20
MAX_QUERIES_BYTES = 2**28
ROUNDING = 1e-5  # of float32 against the means, which were taken in float64
ADVICE = "Score the queries again."


def save_scores(
    folder: Path, scores: Scores, document: Mapping[str, Any] | None = None
) -> None:
    """Write scores into a folder, the document (that of the scores, if none) last."""
    if scores.queries is not None:
        arrays = {"/".join(key): values for key, values in scores.queries.items()}
        write_whole(folder / QUERIES, lambda partial: save_file(arrays, partial))
    write_json(folder / SCORES, document or scores.to_json())


def read_scores(file: Path) -> Scores:
    """Read a document of scores; `with_queries` adds those of single queries."""
    try:
        document = load_json(file, MAX_BYTES)
    except (OSError, ValueError) as problem:
        raise DataError(f"'{file}' cannot be read: {problem}") from problem
    return Scores.from_json(document)


def with_queries(scores: Scores, folder: Path) -> Scores:
    """Add every query's own scores from a folder; those of other scores are refused."""
    path = folder / QUERIES
    try:
        if path.stat().st_size > MAX_QUERIES_BYTES:
            raise ValueError(f"it has over {MAX_QUERIES_BYTES:,} bytes")
        arrays = load_file(path)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as problem:
        raise DataError(f"'{path}' cannot be read: {problem}. {ADVICE}") from None
    found: dict[Key, Values] = {}
    means = scores.means()
    for name, values in arrays.items():
        gallery, direction, measure = (*name.split("/", 2), "", "")[:3]
        key = gallery, direction, measure
        _require_mean(path, key, values, means.get(key))
        found[key] = values
    return replace(scores, queries=found)


def _require_mean(path: Path, key: Key, values: Values, expected: float | None) -> None:
    """Refuse a list whose mean is not the one that the document gives."""
    if values.dtype != np.float32 or values.ndim != 1 or expected is None:
        raise DataError(
            f"'{path}' must hold lists of float32, one to each score; "
            f"{' '.join(key)[:60]!r} is {values.dtype} of shape {values.shape}. "
            f"{ADVICE}"
        )
    known = without_nan(values).clip(0, 1)
    mean = float(known.mean(dtype=np.float64)) if len(known) else -1.0
    if abs(mean - expected) > ROUNDING:
        raise DataError(
            f"'{path}' does not belong to the scores beside it: the mean of "
            f"{' '.join(key)} is {mean:.6f}, not {expected:.6f}. {ADVICE}"
        )
