"""The files of a run folder, read under checks and without loading what it learned.

RUN/run.json             what was trained, on what, by which versions; checksums
RUN/state.safetensors    everything the method learned
RUN/split.json           the ids of each part of the data
RUN/seen.npy             hashes of the images it has learned from
RUN/calibration.json     how probable a result at a distance is
RUN/image_weights.*      a copy of the image network's weights, if not packaged
RUN/scores.json          the last evaluation, once there was one
RUN/queries.safetensors  the scores of its single queries
RUN/model-card.md        data, scores and limits, for people
RUN/checkpoints/         unfinished training, gone when it ends

The model inside an index is such a folder without split.json and seen.npy.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.errors import DamagedRun, DataError, MissingRun, NewerRun
from fdch.evaluation.calibration.model import Calibration
from fdch.files import checksum, load_json
from fdch.index.storage.files.layout import CATALOGUE, MODEL

FORMAT = 1
DESCRIPTION = "run.json"
STATE = "state.safetensors"
SPLIT = "split.json"
SEEN = "seen.npy"
CALIBRATION = "calibration.json"
CHECKPOINTS = "checkpoints"
WEIGHTS = "image_weights"
MAX_DESCRIPTION_BYTES = 64 * 2**20
MAX_FILE_BYTES = 16 * 2**30
FIELDS = {"method": str, "settings": dict, "files": dict, "fingerprint": str}


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run, without its weights."""

    name: str  # the method's name, such as "fdch"
    fingerprint: str  # identifies the trained model

    calibration: Calibration | None


def read_facts(folder: str | Path) -> RunFacts:
    """Read facts about a run without loading torch or its weights."""
    folder = Path(folder)
    facts = read_description(folder)
    if CALIBRATION in facts["files"]:
        require_intact(folder / CALIBRATION, facts["files"][CALIBRATION])
    bits = facts["settings"].get("bits")
    calibration = read_calibration(folder, facts, bits)
    return RunFacts(facts["method"], facts["fingerprint"], calibration)


def is_finished(folder: Path) -> bool:
    """Return whether a folder holds a whole run."""
    return (folder / DESCRIPTION).exists()


def read_description(folder: Path) -> dict[str, Any]:
    """Read run.json under checks."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise _no_run(folder)
    facts = read_versioned(
        path, FORMAT, "is not a run's description", "Train the run again."
    )
    wrong = [key for key, kind in FIELDS.items() if type(facts.get(key)) is not kind]
    if not wrong and not _has_known_files(facts["files"]):
        wrong = ["files"]
    if not wrong and not _has_packages(facts.get("packages", {})):
        wrong = ["packages"]
    if not wrong and facts["settings"].get("image_weights", "") not in (
        "",
        *facts["files"],
    ):
        wrong = ["settings"]
    if wrong:
        raise DamagedRun(
            f"'{path}' has missing or unfit fields: {', '.join(wrong)}. "
            "Train the run again."
        )
    return facts


def read_versioned(path: Path, newest: int, wrong: str, advice: str) -> dict[str, Any]:
    """Read a JSON document that carries the number of its format, under checks."""
    try:
        document = load_json(path, MAX_DESCRIPTION_BYTES)
        found = document["format"]
        if type(found) is not int or found < 1:
            raise ValueError(f"its format is {found!r}")
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DamagedRun(f"'{path}' {wrong} ({problem}). {advice}") from problem
    if found > newest:
        versions = document.get("versions")
        writer = versions.get("fdch") if isinstance(versions, dict) else None
        by = f" (written by fdch {writer})" if isinstance(writer, str) else ""
        raise NewerRun(
            f"'{path}' has format {found}{by}; fdch {__version__} reads formats up to "
            f"{newest}. Upgrade fdch to open it."
        )
    return dict(document)


def _no_run(folder: Path) -> MissingRun:
    """Make the error of a folder that is not there, or is something else."""
    if (folder / CATALOGUE).exists():
        kept = folder / MODEL
        return MissingRun(
            f"no trained method in '{folder}', which is an index. Give the run that "
            f"it was made with, or the model that it keeps: '{kept}'."
        )
    there = "" if folder.is_dir() or not folder.exists() else ", which is a file"
    return MissingRun(
        f"no trained method in '{folder}'{there}. Train one with 'fdch train', "
        "or check the path."
    )


def read_calibration(
    folder: Path, facts: Mapping[str, Any], bits: int
) -> Calibration | None:
    """Read how probable results are, where the run's description names it."""
    if CALIBRATION not in facts["files"]:
        return None
    path = folder / CALIBRATION
    try:
        found = Calibration.from_json(load_json(path, MAX_DESCRIPTION_BYTES))
        if found.bits != bits:
            raise DataError(f"it is for {found.bits} bits, not {bits}.")
    except ValueError as problem:
        raise DamagedRun(
            f"'{path}' is not a run's calibration ({problem}). Train the run again."
        ) from problem
    return found


def _has_known_files(files: Mapping[str, Any]) -> bool:
    """No name in a description may lead out of the folder."""
    others = set(files) - {STATE, SPLIT, SEEN, CALIBRATION}
    plain = all(
        Path(name).name == name and Path(name).stem == WEIGHTS for name in others
    )
    return plain and STATE in files


def _has_packages(packages: Any) -> bool:
    """Only names are shown as something to install."""
    if type(packages) is not dict:
        return False
    plain = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")
    words = [*packages, *packages.values()]
    return all(isinstance(word, str) and plain.fullmatch(word) for word in words)


def require_intact(path: Path, expected: object) -> None:
    """Refuse a file that is missing, or not the one that was written."""
    if not path.is_file():
        raise DamagedRun(f"'{path}' is missing. Restore it or train the run again.")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise DamagedRun(
            f"'{path}' has {size:,} bytes; at most {MAX_FILE_BYTES:,} fit."
        )
    if checksum(path) != expected:
        raise DamagedRun(
            f"'{path}' is not the file that was written (size or checksum differ). "
            "Restore it from a copy or train the run again."
        )
