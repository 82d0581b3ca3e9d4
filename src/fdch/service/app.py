"""The application: routes of each index behind one address, errors in one shape."""

from collections.abc import (
    AsyncIterator,
    Callable,
    Container,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

import fdch
from fdch.errors import FdchError
from fdch.service.http.problems import Problem, internal_error, to_problem
from fdch.service.http.uploads import invalid
from fdch.service.reference import openapi
from fdch.service.routes import replies
from fdch.service.routes.items import add_items
from fdch.service.routes.search import add_searches
from fdch.service.routes.state import add_facts, add_indexes, add_pages
from fdch.service.service import Service

OTHER = "other"
INDEX = "fdch.index"  # key of a request's scope: the index that its address names
_ALL = "/v1"


def create_app(service: Service) -> FastAPI:
    """Make the routes of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for each in service.group:
            await each.start()
        yield
        for each in service.group:
            await each.stop()

    app = FastAPI(
        title="fdch",
        version=fdch.__version__,
        description=openapi.DESCRIPTION,
        lifespan=lifespan,
        openapi_url=None,
        responses=openapi.ERRORS,
        redirect_slashes=False,
    )
    for add in (add_searches, add_items, add_facts, add_indexes, add_pages):
        add(app, service)
    _add_errors(app)
    return app


def _add_errors(app: FastAPI) -> None:
    def handle(kind: type[Exception], adapt: Callable[[Any], Problem]) -> None:
        async def reply(_: Request, error: Exception) -> Response:
            return adapt(error).response()

        app.add_exception_handler(kind, reply)

    handle(Problem, lambda error: error)
    handle(FdchError, to_problem)
    handle(RequestValidationError, lambda error: invalid(error.errors()))
    handle(Exception, lambda _: internal_error())

    @app.exception_handler(HTTPException)
    async def handle_framework_error(
        request: Request, error: HTTPException
    ) -> Response:
        problem = replies.adapt_error(error)
        if error.status_code == 405:
            routes = _routes_at(app.routes, request.scope)
            methods = {each for route in routes for each in route.methods or ()}
            methods |= {"HEAD"} if "GET" in methods else set()
            problem.headers = {"allow": ", ".join(sorted(methods))}
        return problem.response()


def route_at(routes: Iterable[BaseRoute], scope: Scope) -> str:
    """Return the template of the route that a request is for."""
    known = scope.get("route")
    if known is None:
        known = next(_routes_at(routes, scope), None)
    return str(getattr(known, "path", OTHER))


def _routes_at(routes: Iterable[BaseRoute], scope: Scope) -> Iterator[Route]:
    for each in routes:
        if isinstance(each, Route) and each.matches(scope)[0] is not Match.NONE:
            yield each


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
        """Pass the request to the application of its index."""
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
