"""What an index holds, in figures: for `info`, and for the chips of filters."""

from pathlib import Path

from fdch.index.storage.items import require_texts
from fdch.index.storage.snapshot import View
from fdch.index.store import Cell, Contents


def describe(view: View) -> dict[str, object]:
    """Return what there is: plain values for JSON."""
    snapshot = view.snapshot
    folder = snapshot.place.folder
    rows = sum(part.record.rows for part in snapshot.parts)
    items = view.items
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
    names = [name for (name,) in view.connection.execute(query)]
    require_texts(names, "the name of a column")
    return names


def contents(view: View, most: int) -> Contents:
    """Tell what filters can ask for: so many values of each column."""
    facets = _facets(view, most)
    distinct = {
        name: len(values) if len(values) < most else _distinct(view, name)
        for name, values in facets.items()
    }
    return Contents(facets, _extremes(view), _kinds(view), distinct=distinct)


def _facets(view: View, most: int) -> dict[str, list[tuple[Cell, int]]]:
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


def _distinct(view: View, name: str) -> int:
    """Count the values of a column."""
    query = (
        "SELECT count(*) FROM (SELECT 1 FROM cells "
        'WHERE "column" = (SELECT "column" FROM columns WHERE name = ?) '
        "GROUP BY value)"
    )
    (count,) = view.connection.execute(query, (name,)).fetchone()
    return int(count)


def _extremes(view: View) -> dict[str, tuple[float, float]]:
    """Give the smallest and the largest value of each column of numbers alone."""
    # texts sort behind all numbers, so the two ends tell of all between
    query = (
        "SELECT min(value), max(value) FROM cells "
        'WHERE "column" = (SELECT "column" FROM columns WHERE name = ?)'
    )
    found = {}
    for name in columns(view):
        least, most = view.connection.execute(query, (name,)).fetchone()
        if isinstance(least, int | float) and isinstance(most, int | float):
            found[name] = (least, most)
    return found


def _kinds(view: View) -> dict[str, int]:
    """Count items by what their codes were made of."""
    query = "SELECT json_extract(content, '$[0]'), count(*) FROM items GROUP BY 1"
    found = {str(kind): count for kind, count in view.connection.execute(query)}
    # items with running numbers for ids are not listed
    bare = view.items - sum(found.values())
    return found | ({"code": found.get("code", 0) + bare} if bare else {})


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # compacted away meanwhile
        return 0
