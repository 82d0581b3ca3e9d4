"""Which route an address leads to, and by which methods."""

from collections.abc import Iterable, Iterator

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

OTHER = "other"


def route_at(routes: Iterable[BaseRoute], scope: Scope) -> str:
    """Give the template of the route that a request is for."""
    known = scope.get("route")
    if known is None:
        known = next(_routes_at(routes, scope), None)
    return str(getattr(known, "path", OTHER))


def methods_at(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """Give all methods that an address takes."""
    found = {each for one in _routes_at(routes, scope) for each in one.methods or ()}
    return sorted(found | {"HEAD"} if "GET" in found else found)


def _routes_at(routes: Iterable[BaseRoute], scope: Scope) -> Iterator[Route]:
    for each in routes:
        if isinstance(each, Route) and each.matches(scope)[0] is not Match.NONE:
            yield each
