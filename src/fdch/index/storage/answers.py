"""From what a search found to what the caller is told."""

import numpy as np

from fdch.index.search.gallery import Found
from fdch.index.storage.access import View
from fdch.index.storage.identities import items_of
from fdch.index.store import Answer


def answers_of(view: View, found: list[Found]) -> list[Answer]:
    """Give items and codes of what was found, looked up once for all queries."""
    ends = np.cumsum([len(one.numbers) for one in found])
    positions = np.concatenate([np.empty(0, np.int64), *(one.numbers for one in found)])
    items = items_of(view.connection, view.snapshot, view.snapshot.numbers(positions))
    codes = view.snapshot.codes(positions)
    return [
        Answer(
            tuple(item.id for item in items[end - len(one.numbers) : end]),
            one.distances,
            codes[end - len(one.numbers) : end],
            one.scanned,
            tuple(items[end - len(one.numbers) : end]),
        )
        for one, end in zip(found, ends, strict=True)
    ]
