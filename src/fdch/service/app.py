"""The application: all routes of a service, and its errors in one shape."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

import fdch
from fdch.errors import FdchError
from fdch.service import documents, replies
from fdch.service.http.problems import Problem, to_problem, unexpected
from fdch.service.http.uploads import invalid
from fdch.service.routes.items import add_items
from fdch.service.routes.search import add_searches
from fdch.service.routes.state import add_facts, add_pages
from fdch.service.service import Service

OTHER = "other"


def create_app(service: Service) -> FastAPI:
    """Make the routes of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="fdch",
        version=fdch.__version__,
        description=documents.DESCRIPTION,
        lifespan=lifespan,
        openapi_url=None,
        responses=documents.ERRORS,
        redirect_slashes=False,
    )
    add_searches(app, service)
    add_items(app, service)
    add_facts(app, service)
    add_pages(app, service)
    _add_errors(app)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def handle_problem(_: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(FdchError)
    async def handle_fdch_error(_: Request, error: FdchError) -> Response:
        return to_problem(error).response()

    @app.exception_handler(RequestValidationError)
    async def handle_invalid(_: Request, error: RequestValidationError) -> Response:
        return invalid(error.errors()).response()

    @app.exception_handler(HTTPException)
    async def handle_framework_error(
        request: Request, error: HTTPException
    ) -> Response:
        problem = replies.adapt_error(error)
        if error.status_code == 405:
            methods = methods_at(app.routes, request.scope)
            problem.headers = {"allow": ", ".join(methods)}
        return problem.response()

    @app.exception_handler(Exception)
    async def handle_unexpected(_: Request, error: Exception) -> Response:
        return unexpected().response()


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
