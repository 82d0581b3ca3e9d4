"""Runs: a trained method opened from a folder, or written to one."""

import io
import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fdch import __version__, methods
from fdch.data.extensions import METHODS, find_package, require_packages
from fdch.data.readers.array_files import DAMAGE, read_rows
from fdch.data.rows import HASH_BYTES
from fdch.data.splits import Split
from fdch.data.static_words import PACKAGE, StaticVocabulary
from fdch.errors import DamagedRun, FdchError, RunError
from fdch.evaluation.calibration.model import Calibration
from fdch.files import (
    checksum,
    fingerprint,
    make_folder,
    write_bytes,
    write_json,
    write_whole,
)
from fdch.methods._base import HashMethod, require_method
from fdch.runs.run_files import (
    CALIBRATION,
    DESCRIPTION,
    FORMAT,
    SEEN,
    SPLIT,
    STATE,
    WEIGHTS,
    read_calibration,
    read_description,
    require_intact,
)
from fdch.training.context import PLAIN, Context

# what a state and settings that do not fit raise
UNFIT = (
    SafetensorError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    RuntimeError,
)


@dataclass(frozen=True, repr=False)
class Run:
    """A trained method opened from a folder."""

    folder: Path
    method: HashMethod
    facts: Mapping[str, Any]  # the content of run.json
    calibration: Calibration | None = None  # if validation pairs sufficed

    def __repr__(self) -> str:
        return f"<Run {str(self.folder)!r}, {self.method!r}>"

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

    def seen_images(self) -> frozenset[bytes] | None:
        """Read the hashes of all images that it has learned from.

        None for runs of before they were kept.
        """
        if SEEN not in self.facts["files"]:
            return None
        path = self.folder / SEEN
        try:
            found = read_rows(path, np.uint8, HASH_BYTES)
        except DAMAGE as problem:
            raise DamagedRun(
                f"'{path}' does not hold hashes of images ({problem}). Train the run "
                "again."
            ) from problem
        return frozenset(row.tobytes() for row in found)


def save_run(
    folder: str | Path,
    method: HashMethod,
    split: Split | None = None,
    facts: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    seen: Sequence[bytes] = (),
) -> Run:
    """Save a fitted method as a run that `open_run` and the commands open.

    The description is written last, so that a run is complete or absent.

    Args:
        folder: Where to write; files of an earlier run there are replaced.
        method: A fitted method.
        split: The split it was trained on, for `fdch evaluate` without data.
        facts: Further entries of the description.
        calibration: Probabilities, as `calibrate` returns them.
        seen: Hashes of the images that it has learned from, 16 bytes each.
    """
    require_method(method)
    state, folder = method.state(), Path(folder)
    make_folder(folder)
    written = [STATE]
    write_whole(folder / STATE, lambda path: save_file(state, path))
    if split is not None:
        written.append(SPLIT)
        split.save(folder / SPLIT)
    if seen:
        written.append(SEEN)
        hashes = np.frombuffer(b"".join(seen), np.uint8).reshape(len(seen), -1)
        content = io.BytesIO()
        np.save(content, hashes, allow_pickle=False)
        write_bytes(folder / SEEN, content.getvalue())
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
        "method": method.name,
        "settings": settings,
        "fingerprint": _model_fingerprint(method.name, settings, checksums),
        **(facts or {}),
        **_describe_packages(method.name, method),
        "files": checksums,
    }
    write_json(folder / DESCRIPTION, description)
    return Run(folder, method, description, calibration)


def copy_model(run: Run, folder: Path) -> Run:
    """Write what encodes, byte for byte, and leave out what training needed."""
    make_folder(folder)
    files = run.facts["files"].items()
    kept = {name: checksum for name, checksum in files if name not in (SPLIT, SEEN)}
    for name in kept:
        write_whole(folder / name, partial(shutil.copyfile, run.folder / name))
        require_intact(folder / name, kept[name])
    facts = {**run.facts, "files": kept}
    write_json(folder / DESCRIPTION, facts)
    return Run(folder, run.method, facts, run.calibration)


def open_run(folder: str | Path, context: Context = PLAIN) -> Run:
    """Open a run under checks: version, checksums, shapes."""
    folder = Path(folder)
    facts = read_description(folder)
    require_packages(f"the run '{folder}'", facts.get("packages", {}))
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
    except FdchError:
        raise
    except UNFIT as problem:
        raise DamagedRun(
            f"run '{folder}' cannot be opened: {STATE} does not fit {DESCRIPTION} "
            f"({problem}). Train it again."
        ) from problem
    return Run(folder, made, facts, read_calibration(folder, facts, made.bits))


def _model_fingerprint(
    name: str, settings: Mapping[str, Any], checksums: Mapping[str, Any]
) -> str:
    """Identify a model by what it learned and by all its settings.

    Some settings count in encoding alone, so that two models with one state can
    have different codes. It is made once: runs keep the one they were saved with.
    """
    weights = checksums.get(settings["image_weights"])
    others = {key: settings[key] for key in settings if key != "image_weights"}
    return fingerprint([name, others, checksums[STATE], weights])


def _describe_packages(name: str, method: HashMethod) -> dict[str, dict[str, str]]:
    """Name what the run was made with, and the packages that opening it needs."""
    versions = {"fdch": __version__, "python": platform.python_version()}
    of_method = find_package(METHODS, name)
    needed = [*method.inputs.packages, *([of_method] if of_method else [])]
    is_static = type(method.inputs.vocabulary) is StaticVocabulary
    static = (PACKAGE, "tokenizers") if is_static else ()
    for package in ("torch", "numpy", "scipy", "pillow", *static, *needed):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    packages = {each: versions[each] for each in needed if each in versions}
    return {"versions": versions, **({"packages": packages} if packages else {})}
