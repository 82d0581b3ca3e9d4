"""Cells on disk: what was run, how it went, and its scores.

cells/METHOD-BITS-SEED/cell.json      the task's fingerprint, state and figures
cells/METHOD-BITS-SEED/scores.json    its scores, once it is done
cells/METHOD-BITS-SEED/queries.safetensors    the scores of its single queries
cells/METHOD-BITS-SEED/run/           training in progress, or a run that is kept
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fdch.errors import DataError, FdchError
from fdch.evaluation import Scores
from fdch.evaluation.documents import from_plain, read_value, to_plain
from fdch.evaluation.score_files import (
    QUERIES,
    SCORES,
    read_scores,
    save_scores,
    with_queries,
)
from fdch.files import load_json, make_folder, write_json

RECORD, RUN = "cell.json", "run"
MAX_BYTES = 64 * 2**20
State = Literal["begun", "done", "failed"]


@dataclass(frozen=True)
class Record:
    """The record of a cell."""

    fingerprint: str  # of method, settings, data, split and version together
    state: State  # "begun", "done" or "failed"

    task: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)  # times and memory
    reason: str = ""
    scores: Scores | None = None

    def save(self, folder: Path) -> None:
        """Write the record, its scores first, so that a cell is done or not."""
        make_folder(folder)
        if self.scores is not None:
            save_scores(folder, self.scores)
        document = to_plain(replace(self, scores=None))
        del document["scores"]  # which lie beside it
        write_json(folder / RECORD, document)

    @classmethod
    def read(cls, folder: Path) -> "Record | None":
        """Read a cell's record; None if there is none."""
        if not (folder / RECORD).exists():
            return None
        try:
            document = load_json(folder / RECORD, MAX_BYTES)
        except (OSError, ValueError) as problem:
            raise DataError(f"'{folder / RECORD}' cannot be read: {problem}") from None
        document = read_value(dict[str, Any], document, RECORD)
        record = from_plain(cls, document | {"scores": None}, RECORD)
        if record.state != "done":
            return record
        scores = with_queries(read_scores(folder / SCORES), folder)
        return replace(record, scores=scores)


def previous_record(folder: Path, fingerprint: str) -> tuple[Record | None, str]:
    """Return the record of an earlier attempt at this task, or why it is unusable."""
    try:
        record = Record.read(folder)
    except FdchError as problem:
        return None, f"'{folder}' is damaged and run again ({problem})"
    if record is not None and record.fingerprint != fingerprint:
        return None, (
            f"'{folder}' was made with other data, settings or version of fdch; it is "
            "run again"
        )
    return record, ""


def clear(folder: Path) -> None:
    """Delete whatever an attempt at another task has left in a cell's folder."""
    for name in (RECORD, SCORES, QUERIES):
        (folder / name).unlink(missing_ok=True)
    drop_run(folder)


def drop_run(folder: Path) -> None:
    """Delete a cell's trained run or unfinished training."""
    if (folder / RUN).exists():
        shutil.rmtree(folder / RUN)
