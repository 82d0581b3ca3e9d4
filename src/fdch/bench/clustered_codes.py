"""Codes to measure with, random or clustered as learned ones are; indexes of them."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fdch.bench.timing import seconds
from fdch.codes import Codes
from fdch.errors import SettingError
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent

Kind = Literal["random", "clustered", "given"]
KINDS: tuple[Kind, ...] = ("random", "clustered")
CENTRES = 1000
FLIPPED = 0.1  # share of bits that differ from the centre
NOISE = 0.02  # share of bits flipped where given codes are repeated
CODES_AT_A_TIME = 1 << 17
ITEMS_AT_A_TIME = 10_000


@dataclass(frozen=True)
class Source:
    """Where codes come from.

    "random" codes; "clustered" ones around 1,000 centres, a tenth of the bits
    flipped; "given" ones over and over, a fiftieth flipped.
    """

    kind: Kind
    bits: int
    seed: int = 0
    given: Codes | None = None

    def __post_init__(self) -> None:
        if self.bits % 8:
            raise SettingError(f"codes of {self.bits} bits are not whole bytes.")
        has_given = self.given is not None and self.given.bits == self.bits
        if self.kind == "given" and not has_given:
            raise SettingError(f"no codes of {self.bits} bits were given.")

    def draw(self, number: int, purpose: int) -> Codes:
        """Draw codes; another purpose gives others around the same centres."""
        rng = np.random.default_rng([self.seed, purpose])
        width = self.bits // 8
        if self.kind == "random":
            drawn = rng.integers(0, 256, (number, width), dtype=np.uint8)
            return Codes(drawn, self.bits)
        share = FLIPPED if self.kind == "clustered" else NOISE
        centres = self._centres()
        packed = np.empty((number, width), dtype=np.uint8)
        for start in range(0, number, CODES_AT_A_TIME):
            some = packed[start : start + CODES_AT_A_TIME]
            some[:] = centres[rng.integers(0, len(centres), len(some))]
            flips = rng.random((len(some), self.bits), dtype=np.float32) < share
            some ^= np.packbits(flips, axis=1)
        return Codes(packed, self.bits)

    def fill(
        self,
        folder: CodeFolder,
        make: Callable[[range], list[Item]],
        total: int,
        progress: Progress = silent,
    ) -> float:
        """Add items that `make` gives for their numbers; return the seconds taken."""
        taken = 0.0
        for start in range(0, total, ITEMS_AT_A_TIME):
            numbers = range(start, min(start + ITEMS_AT_A_TIME, total))
            items, codes = make(numbers), self.draw(len(numbers), start + 3)
            taken += seconds(partial(folder.add, items, codes))
            progress(Update("items", numbers.stop, total, "item"))
        return taken

    def _centres(self) -> NDArray[np.uint8]:
        if self.given is not None:
            return self.given.packed
        rng = np.random.default_rng([self.seed, 0])
        return rng.integers(0, 256, (CENTRES, self.bits // 8), dtype=np.uint8)


@contextmanager
def filled_folder(
    bits: int, fill: Callable[[CodeFolder], object], vector_bytes: int = 0
) -> Iterator[Path]:
    """Make a temporary index folder, fill it, and yield its path."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "index"
        with CodeFolder.create(path, bits, "drawn", None, vector_bytes) as folder:
            fill(folder)
        yield path
