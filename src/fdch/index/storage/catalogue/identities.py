"""From the user's ids to numbers of items and back.

Every row that is read is compared with its own checksum.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from fdch.index.search.gallery import Found
from fdch.index.storage.catalogue.items import from_row
from fdch.index.storage.catalogue.tables import is_intact_item
from fdch.index.storage.files.layout import CATALOGUE, damaged
from fdch.index.storage.snapshot import View
from fdch.index.store import Answer, Choose, Item, is_whole

_RUNNING = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def find_items(view: View, ids: Sequence[str]) -> list[Item | None]:
    """Return the records of the items with these ids, None for an unknown id."""
    numbers = numbers_of(view, ids)
    items = items_of(view, np.array(list(numbers.values()), dtype=np.int64))
    known = dict(zip(numbers, items, strict=True))
    return [known.get(id) for id in ids]


def numbers_of(view: View, ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the items with these ids that are there."""
    wanted = [id for id in dict.fromkeys(ids) if is_whole(id) and "\0" not in id]
    rows = _rows_where(view, "id", wanted)
    return _running(view, ids) | {id: number for number, id, _ in rows}


def items_of(view: View, numbers: NDArray[np.int64]) -> list[Item]:
    """Return the records of items that exist."""
    stored = numbers[~view.snapshot.is_running(numbers)].tolist()
    wanted = list(dict.fromkeys(stored))
    rows = _rows_where(view, "number", wanted)
    found = {number: from_row(id, content) for number, id, content in rows}
    if len(found) != len(wanted):
        raise damaged(
            f"'{view.snapshot.place.folder / CATALOGUE}' lacks "
            f"{len(wanted) - len(found)} items that have a code"
        )
    return [found.get(number) or Item(str(number)) for number in numbers.tolist()]


def answers_of(
    view: View, found: list[Found], choose: Choose | None = None
) -> list[Answer]:
    """Return items and codes of what was found, looked up once for all queries."""
    if choose is not None:
        found = [_choose(view, choose, *each) for each in enumerate(found)]
    ends = accumulate(len(one.numbers) for one in found)
    positions = np.concatenate([np.empty(0, np.int64), *(one.numbers for one in found)])
    items = items_of(view, view.snapshot.numbers(positions))
    codes, vectors = view.snapshot.codes(positions), view.snapshot.vectors(positions)
    answers = []
    for one, end in zip(found, ends, strict=True):
        at = slice(end - len(one.numbers), end)
        own = tuple(items[at])
        ids = tuple(item.id for item in own)
        some = None if vectors is None else vectors[at]
        known = (ids, one.distances, codes[at], one.scanned, own, some)
        answers.append(Answer(*known, one.shares, one.words))
    return answers


def _choose(view: View, choose: Choose, query: int, found: Found) -> Found:
    """Let the caller choose among candidates before anything is read of items."""
    codes = view.snapshot.codes(found.numbers)
    vectors = view.snapshot.vectors(found.numbers)
    places = choose(query, found.distances, codes, vectors, found.shares)
    shares = None if found.shares is None else found.shares[places]
    numbers, distances = found.numbers[places], found.distances[places]
    return Found(numbers, distances, found.scanned, shares, found.words)


def _running(view: View, ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers of the items whose ids are running numbers."""
    snapshot = view.snapshot
    if not len(snapshot.ranges):
        return {}
    wanted = [id for id in dict.fromkeys(ids) if _RUNNING.fullmatch(id)]
    numbers = np.array([int(id) for id in wanted], dtype=np.int64)
    there = snapshot.is_running(numbers) & (snapshot.positions(numbers) >= 0)
    return {wanted[i]: int(numbers[i]) for i in np.flatnonzero(there)}


def _rows_where(
    view: View, column: str, values: Sequence[str] | Sequence[int]
) -> Iterator[tuple[int, str, str]]:
    """Read number, id and content of rows, each compared with its checksum."""
    query = (
        "SELECT number, id, content, digest FROM items "
        f"WHERE {column} IN (SELECT value FROM json_each(?))"
    )
    place = view.snapshot.place
    for row in view.connection.execute(query, (json.dumps(values),)) if values else ():
        if not is_intact_item(place.uid, *row):
            raise damaged(
                f"'{place.folder / CATALOGUE}': the record of item "
                f"{str(row[1])[:80]!r} is damaged"
            )
        yield row[:3]
