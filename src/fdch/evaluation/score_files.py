"""Scores in a folder: the document, and every query's own scores beside it.

scores.json             what `fdch evaluate --json` writes
queries.safetensors     lists of float32, one to each mean of the document
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fdch.errors import DataError
from fdch.evaluation.query_scores import QueryScores
from fdch.evaluation.scores import Scores
from fdch.files import load_json, write_json

SCORES, QUERIES = "scores.json", "queries.safetensors"
MAX_BYTES = 64 * 2**20


def save_scores(
    folder: Path, scores: Scores, document: Mapping[str, Any] | None = None
) -> None:
    """Write scores into a folder, the document last.

    Args:
        folder: Must be there.
        scores: With every query's own scores, unless these are not known.
        document: What to write as scores.json; that of the scores when not given.
    """
    if scores.queries is not None:
        scores.queries.save(folder / QUERIES)
    write_json(folder / SCORES, document or scores.to_json())


def read_scores(file: Path) -> Scores:
    """Read a document of scores; `with_queries` adds what lies beside it.

    Raises:
        DataError: It is damaged, too large or something else.
    """
    try:
        document = load_json(file, MAX_BYTES)
    except (OSError, ValueError) as problem:
        raise DataError(f"'{file}' cannot be read: {problem}") from problem
    return Scores.from_json(document)


def with_queries(scores: Scores, folder: Path) -> Scores:
    """Add every query's own scores from a folder.

    Raises:
        DataError: They are missing, damaged or of other scores.
    """
    return replace(scores, queries=QueryScores.read(folder / QUERIES, scores))
