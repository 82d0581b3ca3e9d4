"""Ranked results put under one another where nearly the same, or sorted by a column."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from fdch.codes import Codes, hamming_distances
from fdch.data.words import cut_words
from fdch.errors import DataError, suggestion
from fdch.index.column_types import sort_key
from fdch.index.store import LABEL, CodeStore
from fdch.retrieval.results import Result

LOOKAHEAD = 100  # places after the first of a group in which others belong to it
MIN_SHARED = 0.8  # of the different words of two texts


def group_results(
    ranked: Sequence[Result], codes: Codes, bits: int, is_all: bool
) -> list[Result]:
    """Keep the first of each group, with the ids of the others.

    A result belongs to the first one before it, up to 100 places, whose code differs
    in so many bits at most and whose text shares four of five words, if both have one.
    So what belongs together does not depend on the page.

    Args:
        ranked: The best first.
        codes: Of these.
        bits: In which codes may differ.
        is_all: Whether no result follows; else groups that may grow are left out.
    """
    words = [None if one.text is None else {*cut_words(one.text)} for one in ranked]
    similar: dict[int, list[str]] = {}  # by the place of the first
    heads: list[int] = []
    for place, one in enumerate(ranked):
        heads = [head for head in heads if head >= place - LOOKAHEAD]
        near = hamming_distances(codes[[place]], codes[heads])[0] <= bits
        alike = (
            head
            for head, is_near in zip(heads, near, strict=True)
            if is_near and _share_most(words[head], words[place])
        )
        head = next(alike, None)
        if head is None:
            similar[place] = []
            heads.append(place)
        else:
            similar[head].append(one.id)
    ends = len(ranked) if is_all else len(ranked) - LOOKAHEAD
    return [
        replace(ranked[head], similar=tuple(ids))
        for head, ids in similar.items()
        if head < ends
    ]


def _share_most(one: set[str] | None, other: set[str] | None) -> bool:
    """Return whether two texts are nearly the same; what has none may be."""
    if one is None or other is None:
        return True
    return len(one & other) >= MIN_SHARED * len(one | other)


class Sorting:
    """Sorts results by a column, "price", or from the largest, "-price"."""

    def __init__(self, store: CodeStore, sort: str) -> None:
        types = store.types()
        self.is_falling = sort not in types and sort.startswith("-")
        self.column = sort[1:] if self.is_falling else sort
        if self.column not in types:
            what = "labels have no order" if self.column == LABEL else "no item has it"
            some = ", ".join(sorted(types)[:5])
            known = f". Columns are: {some}." if some else ". No item has columns."
            hint = suggestion(self.column, types) or known
            raise DataError(
                f"results cannot be sorted by '{self.column}': {what}{hint}"
            )
        self.type = types[self.column]

    def sort(
        self, found: Sequence[Result], items: int, is_cut: bool
    ) -> tuple[list[Result], tuple[str, ...]]:
        """Sort what was found, nearest first where equal; say among how many.

        Those whose cell is empty or does not fit the column's type come last.

        Args:
            found: Candidates, nearest first.
            items: How many items were searched.
            is_cut: Whether there are farther candidates than these.
        """
        keyed = [
            (sort_key(self.type, each.columns.get(self.column)), each) for each in found
        ]
        there = [(key, each) for key, each in keyed if key is not None]
        there.sort(key=itemgetter(0), reverse=self.is_falling)
        notes = []
        if is_cut:
            notes.append(
                f"only the {len(found):,} nearest of {items:,} items are sorted by "
                f"'{self.column}'; add conditions or use a smaller radius."
            )
        if left := len(keyed) - len(there):
            notes.append(
                f"{left:,} of {len(found):,} candidates have no {self.column} to sort "
                "by, and come last."
            )
        last = [each for key, each in keyed if key is None]
        return [each for _, each in there] + last, tuple(notes)
