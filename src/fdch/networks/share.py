"""Which rows of a batch a network computes, where several processes share the batch.

Outside `compute_share` a network computes all rows. Inside it image inputs are those
of the share alone, while random numbers are drawn for the whole batch, so that every
process draws the numbers that one process alone would draw.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Share(NamedTuple):
    """One process's rows of a batch."""

    items: int  # rows of the whole batch
    rows: slice  # which of them are the process's own, one after the other


_current: Share | None = None


def current_share() -> Share | None:
    """Return the share that networks compute at the moment; None for all rows."""
    return _current


@contextmanager
def compute_share(share: Share | None) -> Iterator[None]:
    """Let networks compute one share of a batch inside a block."""
    global _current
    before, _current = _current, share
    try:
        yield
    finally:
        _current = before
