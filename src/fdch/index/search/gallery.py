"""What is searched: parts of rows, and what is found in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.rows import (
    NOTHING,
    NUMBER_MASK,
    Flags,
    Ints,
    Places,
    Rows,
    Stored,
    flat,
    freeze,
)

if TYPE_CHECKING:
    from fdch.index.search.buckets import Buckets
    from fdch.index.search.groups import Grouping

NO_FLAGS: Flags = np.empty(0, dtype=np.bool_)
NO_PLACES: Places = np.empty(0, dtype=np.uint32)
BROAD = 8  # where one row of so many may be found, the others count as removed


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that were added one after another.

    `rows` are codes in the order of insertion, (n,) or (n, words), contiguous and
    aligned, often a map of a file.
    """

    rows: Rows
    first: int  # number of the first of them; numbers rise with insertion
    dead: Flags | None = None  # which are removed, (n,), in the order of numbers
    grouping: "Grouping | None" = None  # groups with bounds, after compaction
    buckets: "Buckets | None" = None  # tables for small radii, of rows as grouped
    numbers: Ints | None = None  # of the rows, rising, where they do not just follow

    @cached_property
    def in_order(self) -> Stored:
        """The rows in order of insertion, as kernels take them."""
        words = (0,) * (1 if self.rows.ndim == 1 else self.rows.shape[1])
        dead = freeze(NO_FLAGS if self.dead is None else self.dead)
        return flat(self.rows), words, freeze(NO_PLACES), self.first, dead

    @cached_property
    def stored(self) -> Stored:
        """The rows as groups and buckets know them."""
        if self.grouping is None:
            return self.in_order
        _, words, _, first, dead = self.in_order
        rows, order = flat(self.grouping.rows), freeze(self.grouping.order)
        return rows, words, order, first, dead

    def only(self, picked: Ints) -> "Part":
        """Return a part in which only some rows, counted from the first, are found."""
        if len(picked) * BROAD >= len(self):
            dead = np.ones(len(self), dtype=np.bool_)
            dead[picked] = False if self.dead is None else self.dead[picked]
            return replace(self, dead=dead)
        living = picked if self.dead is None else picked[~self.dead[picked]]
        return Part(self.rows[living], self.first, numbers=self.first + living)

    def number_keys(self, keys: Ints) -> Ints:
        """Put the rows' own numbers into keys, where they have some."""
        if self.numbers is None:
            return keys
        numbered = keys.copy()
        found = keys != NOTHING
        places = (keys[found] & NUMBER_MASK) - self.first
        numbered[found] = (keys[found] & ~NUMBER_MASK) | self.numbers[places]
        return numbered

    def __len__(self) -> int:
        return self.rows.shape[0]


@dataclass(frozen=True, eq=False)
class Gallery:
    """All rows of an index, in parts that rise in number."""

    bits: int
    parts: tuple[Part, ...]

    def only(self, numbers: Ints) -> "Gallery":
        """Return a gallery in which only the items of some rising numbers are found."""
        parts = []
        for part in self.parts:
            ends = np.searchsorted(numbers, [part.first, part.first + len(part)])
            picked = numbers[slice(*ends)] - part.first
            if len(picked):
                parts.append(part.only(picked))
        return Gallery(self.bits, tuple(parts))

    def holds(self, numbers: Ints) -> Flags:
        """Return which of some numbers can be found."""
        found = np.zeros(len(numbers), dtype=np.bool_)
        for part in self.parts:
            if part.numbers is not None:
                found |= np.isin(numbers, part.numbers)
                continue
            places = numbers - part.first
            inside = (places >= 0) & (places < len(part))
            if part.dead is not None:
                inside[inside] = ~part.dead[places[inside]]
            found |= inside
        return found

    @property
    def nbytes(self) -> int:
        """Count the bytes that say which rows can be found."""
        return sum(
            part.in_order[-1].nbytes
            if part.numbers is None
            else part.numbers.nbytes + part.rows.nbytes
            for part in self.parts
        )

    def __len__(self) -> int:
        return sum(map(len, self.parts))


@dataclass(frozen=True, eq=False)
class Found:
    """What was found for one query, nearest first, ties in order of insertion."""

    numbers: Ints
    distances: NDArray[np.uint16]
    scanned: int  # codes compared or ruled out by bounds
    shares: NDArray[np.float64] | None = None  # of the query's words, where given
    # of the query, that count, by the form in which texts hold them
    words: Mapping[str, str] = field(default_factory=dict)
