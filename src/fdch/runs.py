"""Run folders: a trained method on disk, in safetensors and JSON, under checks.

RUN/run.json             what was trained, on what, by which versions; checksums
RUN/state.safetensors    everything the method learned
RUN/split.json           the ids of each part of the data
RUN/calibration.json     how probable a result at a distance is
RUN/image_weights.*      a copy of the image network's weights, if not packaged
RUN/scores.json          the last evaluation, once there was one
RUN/checkpoints/         unfinished training, gone when it ends

The model inside an index is such a folder without split.json.
"""

import hashlib
import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fdch import __version__, methods
from fdch.data.splits import Split
from fdch.errors import DamagedRun, DataError, NewerRun, RunError
from fdch.evaluation.calibration import Calibration
from fdch.files import write_json, write_whole
from fdch.index.layout import CATALOGUE, MODEL
from fdch.methods._base import HashMethod
from fdch.training.context import PLAIN, Context

FORMAT = 1
DESCRIPTION = "run.json"
STATE = "state.safetensors"
SPLIT = "split.json"
CALIBRATION = "calibration.json"
SCORES = "scores.json"
CHECKPOINTS = "checkpoints"
WEIGHTS = "image_weights"
MOST_DESCRIPTION_BYTES = 16 * 2**20
MOST_FILE_BYTES = 16 * 2**30
FIELDS = {"method": str, "settings": dict, "files": dict, "fingerprint": str}


@dataclass(frozen=True)
class RunFacts:
    """What a run tells of itself, without what it has learned.

    Args:
        name: The method's name, such as "fdch".
        fingerprint: Identifies the trained model.
        calibration: How probable a result at a distance is, where that is known.
    """

    name: str
    fingerprint: str
    calibration: Calibration | None


@dataclass(frozen=True)
class Run:
    """A trained method opened from a folder.

    Args:
        folder: Where it lies.
        method: Ready to encode.
        facts: The content of run.json.
        calibration: How probable a result at a distance is; None for runs that had
            too few validation pairs, and for those of before there was any.
    """

    folder: Path
    method: HashMethod
    facts: Mapping[str, Any]
    calibration: Calibration | None = None

    @property
    def name(self) -> str:
        """The method's name, such as "fdch"."""
        return str(self.facts["method"])

    @property
    def fingerprint(self) -> str:
        """Identify the trained model: same codes for the same items."""
        return str(self.facts["fingerprint"])

    def split(self) -> Split:
        """Read the split the run was trained under."""
        if SPLIT not in self.facts["files"]:
            raise RunError(
                f"'{self.folder}' is the model of an index, which keeps no split. Give "
                "the folder that 'fdch train' wrote."
            )
        return Split.read(self.folder / SPLIT)


def save_run(
    folder: Path,
    name: str,
    method: HashMethod,
    split: Split | None,
    facts: Mapping[str, Any],
    calibration: Calibration | None = None,
) -> Run:
    """Write a run, its description last, so that a run is whole or absent.

    Args:
        folder: Where to write; made if needed.
        name: The method's name.
        method: A fitted method.
        split: The split it was trained under; None for the model of an index.
        facts: What else to keep, such as the data's name and fingerprint.
        calibration: How probable a result at a distance is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [STATE]
    write_whole(folder / STATE, lambda path: save_file(method.state(), path))
    if split is not None:
        written.append(SPLIT)
        write_whole(folder / SPLIT, split.save)
    if calibration is not None:
        written.append(CALIBRATION)
        write_json(folder / CALIBRATION, calibration.to_json())
    settings = {field.name: getattr(method, field.name) for field in fields(method)}
    if method.image_weights:
        source = Path(method.image_weights)
        settings["image_weights"] = WEIGHTS + source.suffix
        written.append(settings["image_weights"])
        write_whole(folder / written[-1], lambda path: shutil.copyfile(source, path))
    checksums = {file: _checksum(folder / file) for file in written}
    description = {
        "format": FORMAT,
        "method": name,
        "settings": settings,
        "fingerprint": _model_fingerprint(name, settings, checksums[STATE]),
        **facts,
        "versions": _versions(),
        "files": checksums,
    }
    write_json(folder / DESCRIPTION, description)
    return Run(folder, method, description, calibration)


def copy_model(run: Run, folder: Path) -> Run:
    """Write what encodes, byte for byte, and leave out what training needed."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {
        name: checksum for name, checksum in run.facts["files"].items() if name != SPLIT
    }
    for name in kept:
        write_whole(folder / name, partial(shutil.copyfile, run.folder / name))
        _require_intact(folder / name, kept[name])
    facts = {**run.facts, "files": kept}
    write_json(folder / DESCRIPTION, facts)
    return Run(folder, run.method, facts, run.calibration)


def read_facts(folder: str | Path) -> RunFacts:
    """Read what a run tells of itself; neither torch nor its weights are loaded.

    Raises:
        RunError: Saying what is wrong with the folder and what to do.
    """
    folder = Path(folder)
    facts = _read_description(folder)
    if CALIBRATION in facts["files"]:
        _require_intact(folder / CALIBRATION, facts["files"][CALIBRATION])
    bits = facts["settings"].get("bits")
    calibration = _read_calibration(folder, facts, bits)
    return RunFacts(facts["method"], facts["fingerprint"], calibration)


def open_run(folder: str | Path, context: Context = PLAIN) -> Run:
    """Open a run under checks: version, checksums, shapes.

    Raises:
        RunError: Saying what is wrong with the folder and what to do.
    """
    folder = Path(folder)
    facts = _read_description(folder)
    for file, expected in facts["files"].items():
        _require_intact(folder / file, expected)
    settings = dict(facts["settings"])
    if settings.get("image_weights"):
        settings["image_weights"] = str(folder / settings["image_weights"])
    method = methods.load(facts["method"])
    known = {field.name for field in fields(method) if field.init}
    try:
        made = method(**{k: v for k, v in settings.items() if k in known})
        made.restore(load_file(folder / STATE), context)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise DamagedRun(
            f"run '{folder}' cannot be opened: {STATE} does not fit {DESCRIPTION} "
            f"({problem}). Train it again."
        ) from problem
    return Run(folder, made, facts, _read_calibration(folder, facts, made.bits))


def is_finished(folder: Path) -> bool:
    """Tell whether a folder holds a whole run."""
    return (folder / DESCRIPTION).exists()


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise _no_run(folder)
    if path.stat().st_size > MOST_DESCRIPTION_BYTES:
        raise DamagedRun(f"'{path}' is larger than any description; it is damaged.")
    try:
        facts = json.loads(path.read_text("utf-8"))
        found = facts["format"]
        if type(found) is not int or found < 1:
            raise ValueError(f"its format is {found!r}")
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise DamagedRun(
            f"'{path}' is not a run's description ({problem}). Train the run again."
        ) from problem
    if found > FORMAT:
        versions = facts.get("versions")
        known = isinstance(versions, dict) and "fdch" in versions
        writer = versions["fdch"] if known else "a later version"
        raise NewerRun(
            f"run '{folder}' has format {found} (written by fdch {writer}); fdch "
            f"{__version__} reads formats up to {FORMAT}. Upgrade fdch to open it."
        )
    wrong = [key for key, kind in FIELDS.items() if type(facts.get(key)) is not kind]
    if not wrong and not _known_files(facts["files"]):
        wrong = ["files"]
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


def _no_run(folder: Path) -> RunError:
    """Make the error of a folder that is not there, or is something else."""
    if (folder / CATALOGUE).exists():
        kept = folder / MODEL
        return RunError(
            f"no trained method in '{folder}', which is an index. Give the run that "
            f"it was made with, or the model that it keeps: '{kept}'."
        )
    there = "" if folder.is_dir() or not folder.exists() else ", which is a file"
    return RunError(
        f"no trained method in '{folder}'{there}. Train one with 'fdch train', "
        "or check the path."
    )


def _read_calibration(
    folder: Path, facts: Mapping[str, Any], bits: int
) -> Calibration | None:
    if CALIBRATION not in facts["files"]:
        return None
    path = folder / CALIBRATION
    try:
        found = Calibration.from_json(json.loads(path.read_text("utf-8")))
        if found.bits != bits:
            raise DataError(f"it is for {found.bits} bits, not {bits}.")
    except (ValueError, RecursionError, DataError) as problem:
        raise DamagedRun(
            f"'{path}' is not a run's calibration ({problem}). Train the run again."
        ) from problem
    return found


def _known_files(files: Mapping[str, Any]) -> bool:
    """No name in a description may lead out of the folder."""
    others = set(files) - {STATE, SPLIT, CALIBRATION}
    plain = all(
        Path(name).name == name and Path(name).stem == WEIGHTS for name in others
    )
    return plain and STATE in files


def _require_intact(path: Path, expected: object) -> None:
    if not path.is_file():
        raise DamagedRun(f"'{path}' is missing. Restore it or train the run again.")
    size = path.stat().st_size
    if size > MOST_FILE_BYTES:
        raise DamagedRun(
            f"'{path}' has {size:,} bytes; at most {MOST_FILE_BYTES:,} fit."
        )
    if _checksum(path) != expected:
        raise DamagedRun(
            f"'{path}' is not the file that was written (size or checksum differ). "
            "Restore it from a copy or train the run again."
        )


def _checksum(path: Path) -> dict[str, Any]:
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16))
    return {"bytes": path.stat().st_size, "blake2b": digest.hexdigest()}


def _model_fingerprint(
    name: str, settings: Mapping[str, Any], state: Mapping[str, Any]
) -> str:
    text = json.dumps([name, settings["bits"], state], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _versions() -> dict[str, str]:
    found = {"fdch": __version__, "python": platform.python_version()}
    for package in ("torch", "numpy", "scipy", "pillow"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
