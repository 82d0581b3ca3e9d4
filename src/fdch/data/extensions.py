"""Image networks, text encoders and methods of other installed packages.

A package names each in an entry point group of its pyproject.toml. What comes as a
model folder of `transformers` instead is named "transformers:DIR".
"""

import os
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, TypeVar

from fdch.errors import MissingFile, MissingPackage, SettingError

IMAGE_NETWORKS = "fdch.image_networks"
TEXT_ENCODERS = "fdch.text_encoders"
METHODS = "fdch.methods"
FOLDER = "transformers:"
MODELS = "FDCH_MODELS"

_T = TypeVar("_T")


def find_extensions(group: str) -> dict[str, EntryPoint]:
    """Find what installed packages add to a group, by name; none is imported."""
    points = tuple(entry_points(group=group))
    return {point.name: point for point in reversed(points)}  # the first one wins


def load_extension(group: str, name: str, kind: type[_T]) -> _T | None:
    """Load what a package adds under a name; None where no package does.

    Raises:
        SettingError: It cannot be imported, or is of another kind.
    """
    point = find_extensions(group).get(name)
    if point is None:
        return None
    try:
        found: Any = point.load()
    except Exception as error:  # whatever the package raises while imported
        raise SettingError(
            f"'{name}' of the package {_package(point)} cannot be loaded from "
            f"'{point.value}' ({type(error).__name__}: {error}). Repair that package."
        ) from error
    if not isinstance(found, kind):
        raise SettingError(
            f"'{point.value}' of the package {_package(point)} is a "
            f"{type(found).__name__}; the entry point group '{group}' takes a "
            f"{kind.__name__}."
        )
    return found


def find_package(group: str, name: str) -> str | None:
    """Name the package that something needs; None where fdch has it itself."""
    if name.startswith(FOLDER):
        return "transformers"
    point = find_extensions(group).get(name)
    return None if point is None else _package(point)


def require_packages(what: str, packages: dict[str, str]) -> None:
    """Refuse what needs packages, by name and version, that are not installed."""
    for name, made_with in packages.items():
        try:
            version(name)
        except PackageNotFoundError as error:
            raise MissingPackage(
                f"{what} needs the package '{name}' (it was made with version "
                f"{made_with}), which is not installed. Install it with: "
                f"pip install {name}"
            ) from error


def find_folder(name: str) -> Path:
    """Return the model folder of a name such as "transformers:DIR".

    One that is not there is looked for by its last name in $FDCH_MODELS.
    """
    folder = Path(name.removeprefix(FOLDER)).expanduser()
    models = os.environ.get(MODELS)
    candidates = [folder, Path(models) / folder.name] if models else [folder]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate.resolve()
    raise MissingFile(
        f"there is no model folder '{folder}', which '{name}' names. Put the folder "
        f"there, or into a folder that the environment variable {MODELS} names."
    )


def _package(point: EntryPoint) -> str:
    return "(unknown)" if point.dist is None else point.dist.name
