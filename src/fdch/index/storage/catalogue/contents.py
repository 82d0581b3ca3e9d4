"""What an index holds, in figures: for `info`, and for the chips of filters."""

from contextlib import suppress

from fdch.errors import DamagedIndex
from fdch.index.storage.catalogue.cell_table import COUNT
from fdch.index.storage.catalogue.column_look import ColumnLook
from fdch.index.storage.files.layout import CATALOGUE, REPAIR
from fdch.index.storage.snapshot import View
from fdch.index.store import LABEL, Cell, ColumnFacts, Contents

_FACETS = (
    f"SELECT CASE WHEN spelled = '' THEN value ELSE spelled END, {COUNT} AS total "
    'FROM cells WHERE "column" = ? '
    "GROUP BY value ORDER BY total DESC, value LIMIT ?"
)
_DISTINCT = (
    'SELECT count(*) FROM (SELECT 1 FROM cells WHERE "column" = ? GROUP BY value)'
)
_ENDS = "SELECT min(value), max(value) FROM cells WHERE \"column\" = ? AND value < ''"


def describe(view: View) -> dict[str, object]:
    """Return what there is: plain values for JSON."""
    snapshot, size = view.snapshot, 0
    for path in snapshot.place.folder.rglob("*"):
        with suppress(FileNotFoundError):  # compacted away meanwhile
            size += path.stat().st_size if path.is_file() else 0
    return {
        "items": view.items,
        "bits": snapshot.place.bits,
        "vector_bytes": snapshot.place.vector_bytes,
        "removed": int(snapshot.starts[-1]) - view.items,
        "parts": len(snapshot.parts),
        "compacted": sum(part.is_compacted for part in snapshot.parts),
        "bytes": size,
        "columns": list(number_columns(view)),
        "commit": snapshot.state.counts.commit,
    }


def number_columns(view: View) -> dict[str, int]:
    """Return the columns that items have had, and the numbers that stand for them."""
    query = 'SELECT name, "column" FROM columns ORDER BY "column"'
    found = dict(view.connection.execute(query))
    if not all(isinstance(name, str) for name in found):
        path = view.snapshot.place.folder / CATALOGUE
        raise DamagedIndex(f"'{path}': the name of a column is no text. {REPAIR}")
    return found


def contents(view: View, most: int) -> Contents:
    """Return what filters can use: so many values of each column."""
    facets: dict[str, list[tuple[Cell, int]]] = {}
    extremes: dict[str, tuple[float, float]] = {}
    distinct: dict[str, int] = {}
    columns: dict[str, ColumnFacts] = {}
    execute = view.connection.execute
    for name, column in number_columns(view).items():
        values = execute(_FACETS, (column, most)).fetchall()
        if not values:
            continue
        facets[name], distinct[name] = values, len(values)
        if len(values) == most:
            (distinct[name],) = execute(_DISTINCT, (column,)).fetchone()
        look = ColumnLook.at(view, name, column)
        facts = look.facts(view.items)
        if facts is not None and name != LABEL:
            columns[name] = facts
        if look.type == "number":
            ends = execute(_ENDS, (column,)).fetchone()
            if None not in ends:
                extremes[name] = ends
    return Contents(facets, extremes, _kinds(view), None, distinct, columns)


def _kinds(view: View) -> dict[str, int]:
    """Count items by what their codes were made of."""
    query = "SELECT json_extract(content, '$[0]'), count(*) FROM items GROUP BY 1"
    found = {str(kind): count for kind, count in view.connection.execute(query)}
    # items with running numbers for ids are not listed
    bare = view.items - sum(found.values())
    return found | ({"code": found.get("code", 0) + bare} if bare else {})
