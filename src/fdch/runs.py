"""Runs: a trained method opened from a folder, or written to one."""

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
from fdch.errors import DamagedRun, RunError
from fdch.evaluation.calibration import Calibration
from fdch.files import write_json, write_whole
from fdch.methods._base import HashMethod
from fdch.run_files import (
    CALIBRATION,
    DESCRIPTION,
    FORMAT,
    SPLIT,
    STATE,
    WEIGHTS,
    checksum,
    read_calibration,
    read_description,
    require_intact,
)
from fdch.training.context import PLAIN, Context


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
    checksums = {file: checksum(folder / file) for file in written}
    description = {
        "format": FORMAT,
        "method": name,
        "settings": settings,
        "fingerprint": _model_fingerprint(name, settings, checksums),
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
        require_intact(folder / name, kept[name])
    facts = {**run.facts, "files": kept}
    write_json(folder / DESCRIPTION, facts)
    return Run(folder, run.method, facts, run.calibration)


def open_run(folder: str | Path, context: Context = PLAIN) -> Run:
    """Open a run under checks: version, checksums, shapes.

    Raises:
        RunError: Saying what is wrong with the folder and what to do.
    """
    folder = Path(folder)
    facts = read_description(folder)
    for file, expected in facts["files"].items():
        require_intact(folder / file, expected)
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
    return Run(folder, made, facts, read_calibration(folder, facts, made.bits))


def _model_fingerprint(
    name: str, settings: Mapping[str, Any], checksums: Mapping[str, Any]
) -> str:
    """Tell models apart by what they learned and by all their settings.

    Some settings count in encoding alone, so that two models with one state can
    have different codes. It is made once: runs keep the one they were saved with.
    """
    weights = checksums.get(settings["image_weights"])
    others = {key: settings[key] for key in settings if key != "image_weights"}
    text = json.dumps([name, others, checksums[STATE], weights], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _versions() -> dict[str, str]:
    found = {"fdch": __version__, "python": platform.python_version()}
    for package in ("torch", "numpy", "scipy", "pillow"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
