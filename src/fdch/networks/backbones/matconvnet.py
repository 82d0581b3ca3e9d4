"""Reads networks published for MatConvNet, such as imagenet-vgg-f.mat.

Filters are stored height x width x in x out; images are row-major here, so the
axes of a filter become out, in, height, width (and no swap of height and width).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.data.readers.matlab5 import DAMAGE, read_variables
from fdch.errors import DataError, MissingFile

LARGEST_FILE = 2**30


@dataclass(frozen=True)
class Layer:
    """One convolution or fully connected layer."""

    filters: NDArray[np.float32]  # (out, in, height, width)
    biases: NDArray[np.float32]  # (out,)


@dataclass(frozen=True)
class PublishedNetwork:
    """Layers by name, and the mean picture that was subtracted in training."""

    layers: dict[str, Layer]
    mean: NDArray[np.float32]  # (height, width, 3), or (1, 1, 3)


def read_network(path: Path) -> PublishedNetwork:
    """Read a MatConvNet file of either layout.

    Newer releases keep both arrays of a layer in a cell array `weights` and the
    mean picture under `meta`; older ones have `filters`, `biases` and no `meta`.
    """
    content = _load(path)
    try:
        cells = [cell[0] for cell in content["layers"]]
        layers = dict(
            _layer(cell)
            for cell in cells
            if "filters" in cell or len(cell.get("weights", ())) > 0
        )
        mean = np.array(_mean(content), dtype=np.float32)
    except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
        raise DataError(
            f"'{path}' is not laid out as a MatConvNet network ({error}); expected "
            "'layers' with filters and biases, and 'normalization.averageImage'."
        ) from error
    return PublishedNetwork(layers, _picture(mean, path))


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise MissingFile(f"no weights file '{path}'. Check the path.")
    if path.stat().st_size > LARGEST_FILE:
        raise DataError(
            f"'{path}' is over {LARGEST_FILE >> 20} MiB: not CNN-F weights."
        )
    with path.open("rb") as file:
        if file.read(128)[124:126] in (b"\0\2", b"\2\0"):
            raise DataError(
                f"'{path}' is a MATLAB 7.3 file. Save it in MATLAB with the option "
                "'-v7'."
            )
    try:
        return read_variables(path, lambda _: ["layers", "meta", "normalization"])
    except DAMAGE as error:
        raise DataError(
            f"'{path}' cannot be read as a MATLAB file ({error}). "
            "Give MatConvNet's imagenet-vgg-f.mat, or download it again."
        ) from error


def _layer(cell: dict[str, Any]) -> tuple[str, Layer]:
    if "filters" in cell:
        filters, biases = cell["filters"], cell["biases"]
    else:
        filters, biases = cell["weights"][:2]
    filters = np.asarray(filters, dtype=np.float32)
    # MATLAB drops trailing axes of length one
    filters = filters.reshape(filters.shape + (1,) * (4 - filters.ndim))
    rows = np.array(biases, dtype=np.float32).reshape(-1)
    return str(cell["name"]), Layer(filters.transpose(3, 2, 0, 1), rows)


def _mean(content: dict[str, Any]) -> NDArray[Any]:
    if "meta" in content:
        return content["meta"][0]["normalization"][0]["averageImage"]
    return content["normalization"][0]["averageImage"]


def _picture(mean: NDArray[np.float32], path: Path) -> NDArray[np.float32]:
    if mean.size == 3:
        return mean.reshape(1, 1, 3)
    if mean.ndim != 3 or mean.shape[2] != 3:
        raise DataError(
            f"the mean picture of '{path}' has shape {mean.shape}; "
            "expected (height, width, 3) or three values."
        )
    return mean
