"""The application: all routes of a service, and its errors in one shape."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

import fdch
from fdch.errors import FdchError
from fdch.service import documents, replies
from fdch.service.http.problems import Problem, problem_of, unexpected
from fdch.service.http.uploads import invalid
from fdch.service.routes.items import add_items
from fdch.service.routes.routing import methods_at
from fdch.service.routes.search import add_searches
from fdch.service.routes.state import add_facts, add_pages
from fdch.service.service import Service


def create_app(service: Service) -> FastAPI:
    """Make the routes of a service."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="fdch",
        version=fdch.__version__,
        description=documents.DESCRIPTION,
        lifespan=life,
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
    async def problem(_: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(FdchError)
    async def ours(_: Request, error: FdchError) -> Response:
        return problem_of(error).response()

    @app.exception_handler(RequestValidationError)
    async def wrong(_: Request, error: RequestValidationError) -> Response:
        return invalid(error.errors()).response()

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        problem = replies.refusal(error)
        if error.status_code == 405:
            methods = methods_at(app.routes, request.scope)
            problem.headers = {"allow": ", ".join(methods)}
        return problem.response()

    @app.exception_handler(Exception)
    async def bug(_: Request, error: Exception) -> Response:
        return unexpected().response()
