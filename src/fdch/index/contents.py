"""What an index holds, in figures: for `info`, and for the chips of filters."""

from pathlib import Path

from fdch.index.access import View
from fdch.index.store import Cell

_MOST_VALUES = 20


def describe(view: View) -> dict[str, object]:
    """Say what there is: plain values for JSON."""
    snapshot = view.snapshot
    folder = snapshot.place.folder
    rows = sum(part.record.rows for part in snapshot.parts)
    items = view.count("items")
    kept = sum(_bytes(path) for path in folder.rglob("*") if path.is_file())
    return {
        "items": items,
        "bits": snapshot.place.bits,
        "removed": rows - items,
        "parts": len(snapshot.parts),
        "compacted": sum(part.is_compacted for part in snapshot.parts),
        "bytes": kept,
        "columns": columns(view),
        "commit": snapshot.commit,
    }


def columns(view: View) -> list[str]:
    """Name the columns that items have had."""
    query = 'SELECT name FROM columns ORDER BY "column"'
    return [name for (name,) in view.connection.execute(query)]


def facets(view: View, most: int = _MOST_VALUES) -> dict[str, list[tuple[Cell, int]]]:
    """Give each column's most frequent values, with the number of their items."""
    query = (
        "SELECT CASE WHEN spelled = '' THEN value ELSE spelled END, count(*) "
        'FROM cells WHERE "column" = (SELECT "column" FROM columns WHERE name = ?) '
        "GROUP BY value ORDER BY count(*) DESC, value LIMIT ?"
    )
    found = {
        name: view.connection.execute(query, (name, most)).fetchall()
        for name in columns(view)
    }
    return {name: values for name, values in found.items() if values}


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # compacted away meanwhile
        return 0
