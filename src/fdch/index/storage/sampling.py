"""Some items of an index, drawn without looking at all of them."""

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.index.storage.access import View
from fdch.index.storage.identities import ids_of

_DRAWS = 4


def sample_items(view: View, count: int, seed: int) -> tuple[list[str], Codes]:
    """Draw items at random, in order of insertion.

    Args:
        view: The index.
        count: How many at most; fewer where most rows were removed.
        seed: The same seed draws the same items of an unchanged index.
    """
    snapshot = view.snapshot
    numbers = _draw(view, count, np.random.default_rng(seed))
    return ids_of(view.connection, snapshot, numbers), snapshot.codes(
        snapshot.positions(numbers)
    )


def _draw(view: View, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    snapshot = view.snapshot
    rows = int(snapshot.starts[-1])
    if rows <= _DRAWS * count:
        numbers = snapshot.living()
    else:
        places = np.unique(rng.integers(rows, size=_DRAWS * count))
        numbers = snapshot.numbers(places)
        numbers = numbers[snapshot.positions(numbers) >= 0]
    if len(numbers) > count:
        numbers = np.sort(rng.choice(numbers, count, replace=False))
    return numbers
