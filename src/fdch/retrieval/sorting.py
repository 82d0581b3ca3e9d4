"""Results in the order of a column."""

from collections.abc import Sequence
from operator import itemgetter

from fdch.errors import DataError, suggestion
from fdch.index.column_types import sort_key
from fdch.index.store import LABEL, CodeStore
from fdch.retrieval.results import Result


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
                f"sorted by '{self.column}' are the {len(found):,} nearest of "
                f"{items:,} items; conditions or a smaller radius let in fewer."
            )
        if left := len(keyed) - len(there):
            notes.append(
                f"{left:,} of {len(found):,} candidates have no {self.column} to sort "
                "by, and come last."
            )
        last = [each for key, each in keyed if key is None]
        return [each for _, each in there] + last, tuple(notes)
