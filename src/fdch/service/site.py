"""Several indexes behind one address: each is a service with routes of its own."""

from collections.abc import Container, Sequence

from starlette.types import Receive, Scope, Send

from fdch.service.app import create_app
from fdch.service.service import Service

INDEX = "fdch.index"  # key of a request's scope: the index that its address names
_ALL = "/v1"


class Site:
    """The applications of services, which differ in name.

    Each is at `/v1/indexes/NAME`, and the first at `/v1` too.
    """

    def __init__(self, services: Sequence[Service]) -> None:
        for each in services:
            each.group = list(services)
            if each is not services[0]:
                each.address = f"{_ALL}/indexes/{each.name}"
        self._first = services[0].name
        self._apps = {each.name: create_app(each) for each in services}
        self.routes = self._apps[self._first].routes

    def locate(self, scope: Scope) -> None:
        """Turn the address of a named index into that of an only one."""
        locate(scope, self._apps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application of the index answer."""
        app = self._apps[scope.get(INDEX, self._first)]
        await app(scope, receive, send)


def locate(scope: Scope, names: Container[str]) -> None:
    """Turn `/v1/indexes/NAME/search` into `/v1/search`, and keep the name.

    >>> scope = {"path": "/v1/indexes/a/items/1", "raw_path": b"/v1/indexes/a/items/1"}
    >>> locate(scope, ["a"])
    >>> scope["path"], scope[INDEX]
    ('/v1/items/1', 'a')
    """
    _, _, after = scope["path"].partition(f"{_ALL}/indexes/")
    name, slash, _ = after.partition("/")
    prefix = f"{_ALL}/indexes/{name}"
    raw = scope["raw_path"]
    if not slash or name not in names or not raw.startswith(f"{prefix}/".encode()):
        return
    scope[INDEX] = name
    scope["path"] = _ALL + scope["path"].removeprefix(prefix)
    scope["raw_path"] = _ALL.encode() + raw.removeprefix(prefix.encode())
