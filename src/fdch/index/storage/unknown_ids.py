"""What is said of ids that an index does not have."""

import difflib
from collections.abc import Sequence

from fdch.errors import DataError
from fdch.index.storage.identities import ids_of
from fdch.index.storage.snapshot import View
from fdch.index.store import is_whole

_LISTED = 10
_NEAR = 3
_BESIDE = 5
_DRAWN = 1000
_COMPARED = 200


def unknown_ids(view: View, gone: Sequence[str], asked: int) -> DataError:
    """Make the error of ids that are not there, with some that are."""
    folder = view.snapshot.place.folder
    if asked == 1:
        said = f"index '{folder}' has no item '{gone[0]}'"
    else:
        more = ", ..." if len(gone) > _LISTED else ""
        said = (
            f"{len(gone)} of {asked} ids are not in index '{folder}': "
            f"{_quoted(gone[:_LISTED])}{more}"
        )
    items = view.items
    if not items:
        return DataError(f"{said}: it is empty. Fill it with 'fdch index add'.")
    drawn = ids_of(view, view.snapshot.draw(_DRAWN, 0))
    near = _near(gone[0], [*_beside(view, gone[0]), *drawn])
    if near:
        return DataError(f"{said}. Near '{gone[0]}' are {_quoted(near)}.")
    counted = "1 item" if items == 1 else f"{items:,} items"
    return DataError(
        f"{said}, nor any like it. It has {counted}, such as {_quoted(drawn[:_NEAR])}; "
        "searching by words shows the ids of what is found."
    )


def _quoted(ids: Sequence[str]) -> str:
    return ", ".join(f"'{id}'" for id in ids)


def _beside(view: View, id: str) -> list[str]:
    """Give the ids that come just before and just after in the order of ids."""
    found: list[str] = []
    if not is_whole(id):
        return found
    for query in (
        "SELECT id FROM items WHERE id < ? ORDER BY id DESC LIMIT ?",
        "SELECT id FROM items WHERE id > ? ORDER BY id LIMIT ?",
    ):
        found += (name for (name,) in view.connection.execute(query, (id, _BESIDE)))
    return found


def _near(id: str, ids: Sequence[str]) -> list[str]:
    spelled = {other[:_COMPARED].casefold(): other for other in ids}
    near = difflib.get_close_matches(id[:_COMPARED].casefold(), spelled, n=_NEAR)
    return [spelled[each] for each in near]
