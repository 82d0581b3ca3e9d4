"""Text files with rows of 0 and 1, of any length, read a block at a time."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fdch.data.rows import unreadable
from fdch.errors import DataError

_BLOCK = 4 * 2**20
_ZERO, _ONE, _NEWLINE, _SPACE = b"01\n "


def read_bits(
    path: Path, columns: int, rows: int
) -> tuple[sparse.csr_array, list[str] | None]:
    """Read a table of 0 and 1, separated by spaces or tabs.

    Args:
        path: The file; a line is a row, blank lines do not count.
        columns: Numbers in a row. One more is taken for the row's name, which
            then comes first.
        rows: Rows that the file must have.

    Returns:
        The bits as uint8, shape (rows, columns), and the names if there are any.
    """
    places: list[NDArray[np.intp]] = []
    starts = [np.zeros(1, dtype=np.int64)]
    names: list[str] = []
    done = 0
    lines_before = 0
    for block in _blocks(path):
        data = np.frombuffer(block, dtype=np.uint8)
        bits, block_names = _parse(data, columns, path, lines_before)
        lines_before += block.count(b"\n")
        done += len(bits)
        if done > rows:
            continue  # only counted, for the message
        names += block_names
        places.append(np.nonzero(bits)[1])
        starts.append(starts[-1][-1:] + np.count_nonzero(bits, axis=1).cumsum())
    if done != rows:
        raise DataError(
            f"'{path}' has {done:,} rows; expected {rows:,}, one a picture."
        )
    if names and len(names) != rows:
        raise DataError(f"'{path}' has a name in {len(names):,} of {rows:,} rows only.")
    found = np.concatenate([np.empty(0, np.intp), *places])
    ones = np.ones(len(found), dtype=np.uint8)
    table = sparse.csr_array(
        (ones, found, np.concatenate(starts)), shape=(rows, columns)
    )
    return table, names or None


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file in pieces that end with a line."""
    rest = b""
    try:
        with open(path, "rb") as file:
            while piece := file.read(_BLOCK):
                whole, newline, tail = piece.rpartition(b"\n")
                if newline:
                    yield rest + whole + newline
                    rest = tail
                else:
                    rest += piece
                if len(rest) > _BLOCK:
                    raise DataError(f"'{path}' has a line of over {_BLOCK:,} bytes.")
    except OSError as error:
        raise unreadable(path, error) from error
    if rest:
        yield rest + b"\n"


def _parse(
    data: NDArray[np.uint8], columns: int, path: Path, lines_before: int
) -> tuple[NDArray[np.bool_], list[str]]:
    filled = data > _SPACE
    begins = filled.copy()
    begins[1:] &= ~filled[:-1]
    starts = np.flatnonzero(begins)
    ends_of_lines = np.flatnonzero(data == _NEWLINE)
    words = np.diff(np.searchsorted(starts, ends_of_lines), prepend=0)
    lines = np.flatnonzero(words)
    named = int(len(lines) > 0 and words[lines[0]] == columns + 1)
    wrong = lines[words[lines] != columns + named]
    if len(wrong):
        raise DataError(
            f"'{path}', line {lines_before + wrong[0] + 1}: {words[wrong[0]]:,} "
            f"values; expected {columns:,}, or one more with a name in front."
        )
    table = starts.reshape(len(lines), columns + named)
    cells = table[:, named:]
    values = data[cells]
    # the data ends with a newline, so a byte follows every cell
    bad = (values != _ZERO) & (values != _ONE) | filled[cells + 1]
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"'{path}', line {lines_before + lines[row] + 1}, value {column + 1} is "
            f"'{_word(data, cells[row, column])}'; expected 0 or 1."
        )
    names = [_word(data, start) for start in table[:, 0]] if named else []
    return values == _ONE, names


def _word(data: NDArray[np.uint8], start: int) -> str:
    return data[start : start + 40].tobytes().split()[0].decode("ascii", "replace")
