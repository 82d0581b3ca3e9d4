"""Codes in a file, as `fdch encode` writes them, read back under checks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.data.pairs import name_repeated
from fdch.data.readers.array_files import DAMAGE, ArrayHeader, array_headers, read_texts
from fdch.errors import DataError, MissingFile
from fdch.index.store import Kind, Vectors, choose_kinds
from fdch.machine import available_memory

MAX_BYTES = 64 * 2**30
KINDS: dict[Kind, str] = {"pair": "unified", "image": "image", "text": "text"}
SIDES = tuple(KINDS.values())
# name: kinds of values, dimensions
ARRAYS = {
    "ids": ("U", 1),
    "has_image": ("b", 1),
    "has_text": ("b", 1),
    "bits": ("iu", 0),
    "fingerprint": ("U", 0),
    "numbered": ("b", 0),
    **dict.fromkeys((*SIDES, "vectors"), ("u", 2)),
}
OPTIONAL = ("numbered", "unified", "vectors")
NEEDED = [name for name in ARRAYS if name not in OPTIONAL]


@dataclass(frozen=True, eq=False)
class EncodedFile:
    """The content of a file of codes, for an index."""

    ids: list[str]  # of the items
    codes: Codes  # of the pair where there is one, else of its picture or text
    kinds: list[Kind]  # what each code was made of
    model: str  # fingerprint of the model that made them
    vectors: Vectors | None = None  # what orders them, where the model gives that
    numbered: bool = False  # whether the ids are only row numbers


def holds_codes(path: Path) -> bool:
    """Return whether a file holds codes."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        names, _ = array_headers(path, ())
    except DAMAGE:
        return False
    return {"fingerprint", "bits"} <= set(names)


def read_encoded(path: Path) -> EncodedFile:
    """Read what `fdch encode` wrote."""
    if not path.is_file():
        raise MissingFile(f"there is no file of codes '{path}'; check the path.")
    try:
        names, headers = array_headers(path, ARRAYS)
        missing = [name for name in NEEDED if name not in names]
        if missing:
            raise DataError(
                f"'{path}' has no array '{missing[0]}'; write it with 'fdch encode'."
            )
        _require_fit(path, headers)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[f"{name}.npy"] for name in headers}
        ids = read_texts(arrays["ids"])
        (model,) = read_texts(arrays["fingerprint"])
    except DataError:
        raise
    except DAMAGE as error:
        raise DataError(
            f"'{path}' is not a valid .npz file: {error}. Write it with 'fdch encode'."
        ) from None
    if len(set(ids)) != len(ids):
        raise DataError(f"'{path}': ids must be unique; {name_repeated(ids)}.")
    return _choose(path, ids, model, arrays)


def _require_fit(path: Path, headers: dict[str, ArrayHeader]) -> None:
    rows = headers["ids"].shape[:1]
    for name, header in headers.items():
        kinds, dimensions = ARRAYS[name]
        fits = header.dtype.kind in kinds and len(header.shape) == dimensions
        if dimensions == 2:
            fits = fits and header.dtype == np.uint8
        if not fits or (dimensions and header.shape[:1] != rows):
            raise DataError(
                f"'{path}': array '{name}' is {header.dtype} of shape {header.shape}, "
                "which no file of codes has. Write it with 'fdch encode'."
            )
        if header.declared != header.held:
            raise DataError(
                f"'{path}': array '{name}' declares {header.declared:,} bytes and "
                f"holds {header.held:,}; it is damaged. Write it with 'fdch encode'."
            )
    total = sum(header.declared for header in headers.values())
    free = available_memory()
    most = MAX_BYTES if free is None else min(MAX_BYTES, free // 2)
    if total > most:
        raise DataError(
            f"'{path}' declares {total:,} bytes; at most {most:,} are read, half of "
            "the memory that is free. Encode fewer rows into a file."
        )


def _choose(
    path: Path, ids: list[str], model: str, arrays: dict[str, NDArray[Any]]
) -> EncodedFile:
    bits = int(arrays["bits"])
    sides = {name: Codes(arrays[name], bits) for name in SIDES if name in arrays}
    kinds = choose_kinds(arrays["has_image"], arrays["has_text"], "unified" in sides)
    if (kinds == "code").any():
        row = int((kinds == "code").argmax())
        raise DataError(f"'{path}': '{ids[row]}' has neither picture nor text.")
    packed = np.zeros_like(sides["image"].packed)
    for kind, side in KINDS.items():
        if side in sides:
            packed[kinds == kind] = sides[side].packed[kinds == kind]
    vectors = arrays["vectors"].view(np.int8) if "vectors" in arrays else None
    numbered = bool(arrays.get("numbered", False))
    codes = Codes(packed, bits)
    return EncodedFile(ids, codes, kinds.tolist(), model, vectors, numbered)
