"""Columns and their types, as lines for a terminal."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fdch.cli.shared.output import NAMED, count, lay_out, plain

if TYPE_CHECKING:
    from fdch.index.store import ColumnFacts


def column_lines(columns: "Mapping[str, ColumnFacts]") -> Iterator[str]:
    """Lay out types, counts and examples, then the cells that do not fit."""
    if columns:
        rows = [
            (
                plain(name, 24),
                facts.type,
                count_cells(facts.counts),
                plain(", ".join(facts.examples), 48),
            )
            for name, facts in columns.items()
        ]
        yield f"\n{lay_out(('column', 'type', 'cells', 'such as'), rows)}"
    for name, facts in columns.items():
        if facts.misfits:
            yield f"\ncells of '{plain(name, 24)}' that are not a {facts.type}:"
            for id, value in facts.misfits[:NAMED]:
                yield f"  {plain(id, 40)}: {plain(value, 60)}"


def count_cells(counts: Mapping[str, int]) -> str:
    """Write how many cells are of each type.

    >>> count_cells({"number": 294, "text": 1, "empty": 3})
    '294 numbers, 1 text, 3 empty'
    """
    return ", ".join(
        f"{number:,} empty" if name == "empty" else count(number, name)
        for name, number in counts.items()
    )
