"""Compiled clustering of codes around majority codes.

Importing this file needs numba.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fdch.compiled import compiled
from fdch.index.search.slice_kernels import first_below, least

Flat = NDArray[np.unsignedinteger[Any]]
Ints = NDArray[np.int64]
Places = NDArray[np.uint32]
Int: TypeAlias = Any  # a machine integer, which NumPy and Python type differently


@compiled
def assign(
    rows: Flat,
    words: Int,
    centres: Flat,
    start: Int,
    stop: Int,
    rings: Int,
    cells: Places,
) -> None:
    """Write each row's cell: its nearest centre times rings, plus how far that is."""
    groups = centres.shape[0] // words
    for row in range(start, stop):
        far = least(centres, 0, groups, rows, row, words)
        group = first_below(centres, 0, groups, rows, row, words, far + 1)
        cells[row] = group * rings + far


@compiled
def majorities(
    rows: Flat, words: Int, cells: Places, rings: Int, centres: Flat
) -> None:
    """Move each centre to the majority of its rows, bit by bit; a tie is clear."""
    groups, width = centres.shape[0] // words, rows.itemsize * 8
    ones = np.zeros((groups, words * width), np.int64)
    sizes = np.zeros(groups, np.int64)
    for row in range(cells.shape[0]):
        group = np.int64(cells[row]) // rings
        sizes[group] += 1
        for word in range(words):
            value = np.uint64(rows[row * words + word])
            for bit in range(width):
                is_set = np.int64((value >> np.uint64(bit)) & np.uint64(1))
                ones[group, word * width + bit] += is_set
    for group in range(groups):
        if sizes[group] == 0:
            continue
        for word in range(words):
            value = np.uint64(0)
            for bit in range(width):
                if 2 * ones[group, word * width + bit] > sizes[group]:
                    value |= np.uint64(1) << np.uint64(bit)
            centres[group * words + word] = value


@compiled
def sort_cells(cells: Places, starts: Ints, order: Places, places: Places) -> None:
    """Sort rows by cell, those of one cell by number.

    Args:
        cells: Of each row.
        starts: Where each cell begins, (cells + 1,), to be written.
        order: Which row comes to each place, to be written.
        places: Where each row comes, to be written.
    """
    starts[:] = 0
    for row in range(cells.shape[0]):
        starts[np.int64(cells[row]) + 1] += 1
    for cell in range(starts.shape[0] - 1):
        starts[cell + 1] += starts[cell]
    ends = starts.copy()
    for row in range(cells.shape[0]):
        here = np.int64(cells[row])
        order[ends[here]] = row
        places[row] = ends[here]
        ends[here] += 1
