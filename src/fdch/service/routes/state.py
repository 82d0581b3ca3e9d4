"""Routes that describe indexes and the service, and the pages for people."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from fdch.errors import FdchError
from fdch.service.http.messages import IndexesReply, IndexReply, ReloadReply, StateReply
from fdch.service.http.problems import Problem
from fdch.service.http.tokens import MAY_READ
from fdch.service.index.contents import GENERAL
from fdch.service.metrics import MEDIA_TYPE
from fdch.service.reference import docs_page, openapi
from fdch.service.reference.examples import add_examples
from fdch.service.routes import replies
from fdch.service.service import Service

_log = logging.getLogger("fdch.service")


def add_facts(app: FastAPI, service: Service) -> None:
    """Add the routes that describe the index and the service."""

    async def describe(find: Callable[[], dict[str, Any]]) -> Response:
        service.require_ready()
        return replies.ok(await service.read(find))

    @app.get(
        "/v1/index",
        summary="Describe what the index holds",
        response_model=IndexReply,
        tags=["index"],
    )
    async def index() -> Response:
        return await describe(lambda: service.current.about.index())

    @app.get(
        "/v1/overview",
        summary="Describe how the codes of the index are distributed",
        response_model=dict[str, Any],
        tags=["index"],
    )
    async def overview() -> Response:
        return await describe(lambda: service.current.about.overview())

    @app.post(
        "/v1/reload",
        summary="Read changed tokens and a replaced index now; needs a write token",
        response_model=ReloadReply,
        tags=["index"],
    )
    async def reload() -> Response:
        try:
            return replies.ok({"switched": await service.reload()})
        except FdchError as problem:
            _log.error("%s", problem)
            message = "the index that replaced this one cannot be served."
            hint = "The log says why; the previous index stays in service."
            raise Problem(409, "not_switched", message, hint) from None

    @app.get(
        "/health",
        summary="Report that the service is alive",
        response_model=StateReply,
        tags=["state"],
    )
    async def health() -> Response:
        return replies.ok({"status": "alive"})

    @app.get(
        "/ready",
        summary="Report whether searches are answered",
        response_model=StateReply,
        tags=["state"],
    )
    async def ready() -> Response:
        for each in service.group:
            each.require_ready()
        return replies.ok({"status": "ready"})

    @app.get(
        "/metrics",
        summary="Return counters for Prometheus",
        response_class=Response,
        openapi_extra=openapi.METRICS,
        tags=["state"],
    )
    async def metrics() -> Response:
        counters = await service.reading.run(service.metrics.text)
        return Response(counters, media_type=MEDIA_TYPE)


def add_pages(app: FastAPI, service: Service) -> None:
    """Add the pages for people, and the document for programs."""
    get = partial(app.get, include_in_schema=False)

    async def describe(request: Request) -> dict[str, Any]:
        document = openapi.add_shapes(app.openapi())
        may_read = request.scope.get(MAY_READ, False)
        known = await service.examples() if may_read else GENERAL
        return add_examples(document, known, has_token=service.tokens is not None)

    @get("/")
    async def page(request: Request) -> Response:
        return replies.page(replies.PAGE, request)

    @get("/static/{name}")
    async def static(name: str, request: Request) -> Response:
        return replies.page(name, request)

    @get("/docs")
    async def docs(request: Request) -> Response:
        document = await describe(request)
        return Response(docs_page.page(document), media_type="text/html")

    @get("/openapi.json")
    async def openapi_document(request: Request) -> Response:
        return replies.ok(await describe(request))


def add_indexes(app: FastAPI, service: Service) -> None:
    """Add the list of indexes, and the error for unknown ones."""

    @app.get(
        "/v1/indexes",
        summary="List the indexes; the first is the one that needs no name",
        response_model=IndexesReply,
        tags=["index"],
    )
    async def indexes() -> Response:
        listed = [
            {
                "name": each.name,
                "items": await each.read(lambda each=each: len(each.index)),  # type: ignore[misc]
                "bits": each.index.bits,
                "is_ready": each.is_ready,
                "address": each.address,
            }
            for each in service.group
        ]
        return replies.ok({"indexes": listed})

    methods = ["GET", "POST", "PUT", "DELETE"]
    path = "/v1/indexes/{name}/{rest:path}"

    @app.api_route(path, methods=methods, include_in_schema=False)
    async def unknown(name: str, rest: str) -> Response:
        names = ", ".join(each.name for each in service.group)
        message = "there is no index of this name."
        raise Problem(404, "unknown_index", message, f"Use one of {names}.")
