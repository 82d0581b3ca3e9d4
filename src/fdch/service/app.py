"""The application: all routes of a service, and its errors in one shape."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

import fdch
from fdch.errors import FdchError
from fdch.service.http.problems import Problem, to_problem, unexpected
from fdch.service.http.uploads import invalid
from fdch.service.reference import openapi
from fdch.service.routes import replies
from fdch.service.routes.items import add_items
from fdch.service.routes.search import add_searches
from fdch.service.routes.state import add_facts, add_indexes, add_pages
from fdch.service.service import Service

OTHER = "other"


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
    handle(Exception, lambda _: unexpected())

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
    """Give the template of the route that a request is for."""
    known = scope.get("route")
    if known is None:
        known = next(_routes_at(routes, scope), None)
    return str(getattr(known, "path", OTHER))


def _routes_at(routes: Iterable[BaseRoute], scope: Scope) -> Iterator[Route]:
    for each in routes:
        if isinstance(each, Route) and each.matches(scope)[0] is not Match.NONE:
            yield each
