"""The routes of the service, and nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

import fdch
from fdch.errors import FdchError
from fdch.service import answering, documents, replies
from fdch.service.examples import with_examples
from fdch.service.limits import (
    DEFAULT_THUMBNAIL,
    LARGEST_THUMBNAIL,
    SMALLEST_THUMBNAIL,
)
from fdch.service.messages import (
    BatchReply,
    EncodeReply,
    EncodeRequest,
    IndexReply,
    ItemReply,
    ItemRequest,
    PutReply,
    SearchOptions,
    SearchReply,
    SearchRequest,
    StateReply,
)
from fdch.service.metrics import MEDIA_TYPE
from fdch.service.page_files import INDEX, page_file
from fdch.service.problems import Problem, problem_of, too_busy, unexpected
from fdch.service.service import Service
from fdch.service.uploads import (
    JSON,
    Form,
    invalid,
    json_body,
    parsed,
    parsed_json,
    read_form,
)
from fdch.service.writing import Put, Removal

Size = Annotated[
    int,
    Query(
        ge=SMALLEST_THUMBNAIL,
        le=LARGEST_THUMBNAIL,
        description="Pixels of the longer side.",
    ),
]


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
    _add_searches(app, service)
    _add_items(app, service)
    _add_facts(app, service)
    _add_pages(app, service)
    _add_errors(app)
    return app


def _add_searches(app: FastAPI, service: Service) -> None:
    @app.post(
        "/v1/search",
        summary="Find what fits a text, several texts, or an item",
        response_model=SearchReply | BatchReply,
        openapi_extra=documents.SEARCH,
        tags=["search"],
    )
    async def search(request: Request) -> Response:
        asked = await json_body(SearchRequest, request)
        manner = answering.Manner.of(asked)
        if asked.id is not None:
            await service.item(asked.id)
            query = answering.Query("id", [asked.id], manner)
        else:
            query = answering.Query("text", asked.asked, manner)
        found = await service.search(query)
        service.log_query(query)
        if asked.texts is None:
            return replies.ok(replies.found(found[0]))
        return replies.ok({"batches": [replies.found(each) for each in found]})

    @app.post(
        "/v1/search/image",
        summary="Find what fits a picture",
        response_model=SearchReply,
        openapi_extra=documents.SEARCH_IMAGE,
        tags=["search"],
    )
    async def search_image(request: Request) -> Response:
        form = await read_form(request, SearchOptions.model_fields)
        options = parsed(SearchOptions, form.fields)
        pixels = await service.decode(_picture(form))
        manner = answering.Manner.of(options)
        found = await service.search(answering.Query("image", [pixels], manner))
        return replies.ok(replies.found(found[0]))

    @app.post(
        "/v1/encode",
        summary="Give the codes of texts",
        response_model=EncodeReply,
        openapi_extra=documents.ENCODE,
        tags=["search"],
    )
    async def encode(request: Request) -> Response:
        asked = await json_body(EncodeRequest, request)
        codes = await service.encode(answering.Query("text", asked.asked, None))
        return replies.ok(replies.encoded(codes, service.index.fingerprint))

    @app.post(
        "/v1/encode/image",
        summary="Give the code of a picture",
        response_model=EncodeReply,
        openapi_extra=documents.ENCODE_IMAGE,
        tags=["search"],
    )
    async def encode_image(request: Request) -> Response:
        form = await read_form(request, ())
        pixels = await service.decode(_picture(form))
        codes = await service.encode(answering.Query("image", [pixels], None))
        return replies.ok(replies.encoded(codes, service.index.fingerprint))


def _add_items(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/items/{id}",
        summary="Tell what is known of an item",
        response_model=ItemReply,
        tags=["items"],
    )
    async def item(id: str) -> Response:
        return replies.ok(replies.item(await service.item(replies.item_id(id))))

    @app.get(
        "/v1/items/{id}/picture",
        summary="Give an item's picture",
        response_class=Response,
        openapi_extra=documents.PICTURE_REPLIES,
        tags=["items"],
    )
    async def picture(id: str, request: Request) -> Response:
        found = await service.item(replies.item_id(id))
        known = request.headers.get("if-none-match")
        return replies.picture(await service.picture(found, known))

    @app.get(
        "/v1/items/{id}/thumbnail",
        summary="Give an item's picture, small, as a JPEG",
        response_class=Response,
        openapi_extra=documents.PICTURE_REPLIES,
        tags=["items"],
    )
    async def thumbnail(
        id: str, request: Request, size: Size = DEFAULT_THUMBNAIL
    ) -> Response:
        found = await service.item(replies.item_id(id))
        known = request.headers.get("if-none-match")
        return replies.picture(await service.thumbnail(found, size, known))

    @app.put(
        "/v1/items/{id}",
        summary="Write an item; needs a writing token",
        response_model=PutReply,
        status_code=201,
        responses={200: {"model": PutReply, "description": "It was replaced."}},
        openapi_extra=documents.PUT,
        tags=["items"],
    )
    async def put(id: str, request: Request) -> Response:
        name = replies.new_id(id)
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind.lower() == JSON:
            change = Put(name, await json_body(ItemRequest, request))
        else:
            form = await read_form(request, ("item",))
            given = form.fields.get("item", ["{}"])
            if len(given) > 1:
                raise invalid([{"loc": ("item",), "msg": "it came several times"}])
            change = Put(name, parsed_json(ItemRequest, given[0]), _picture(form))
            await service.check(_picture(form))
        written = await service.change(change)
        content = {"id": name, "kind": written.kind, "created": not written.existed}
        return replies.ok(content, 200 if written.existed else 201)

    @app.delete(
        "/v1/items/{id}",
        summary="Remove an item; needs a writing token",
        status_code=204,
        response_class=Response,
        tags=["items"],
    )
    async def delete(id: str) -> Response:
        name = replies.item_id(id)
        written = await service.change(Removal(name))
        if not written.existed:
            await service.item(name)
        return Response(status_code=204)


def _add_facts(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/index",
        summary="Tell what the index holds",
        response_model=IndexReply,
        tags=["index"],
    )
    async def index() -> Response:
        return replies.ok(await service.describe())

    @app.get(
        "/v1/overview",
        summary="Tell how the index's codes lie",
        response_model=dict[str, Any],
        tags=["index"],
    )
    async def overview() -> Response:
        return replies.ok(await service.overview())

    @app.get(
        "/health",
        summary="Tell that the service lives",
        response_model=StateReply,
        tags=["state"],
    )
    async def health() -> Response:
        return replies.ok({"status": "alive"})

    @app.get(
        "/ready",
        summary="Tell whether searches are answered",
        response_model=StateReply,
        tags=["state"],
    )
    async def ready() -> Response:
        if not service.is_ready:
            raise too_busy("the model is being loaded.", 5)
        return replies.ok({"status": "ready"})

    @app.get(
        "/metrics",
        summary="Give counters for Prometheus",
        response_class=Response,
        openapi_extra=documents.METRICS,
        tags=["state"],
    )
    async def metrics() -> Response:
        return Response(await service.measurements(), media_type=MEDIA_TYPE)


def _add_pages(app: FastAPI, service: Service) -> None:
    async def described() -> dict[str, Any]:
        document = documents.with_shapes(app.openapi())
        return with_examples(document, await service.examples())

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return replies.page(page_file(INDEX), request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str, request: Request) -> Response:
        return replies.page(page_file(name), request)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        document = await described()
        return Response(documents.page(document), media_type="text/html")

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return replies.ok(await described())

    @app.get("/docs.css", include_in_schema=False)
    async def docs_style() -> Response:
        return Response(documents.STYLE, media_type="text/css")


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
    async def other(_: Request, error: HTTPException) -> Response:
        return replies.refusal(error).response()

    @app.exception_handler(Exception)
    async def bug(_: Request, error: Exception) -> Response:
        return unexpected().response()


def _picture(form: Form) -> bytes:
    if form.picture is None:
        raise invalid([{"loc": ("image",), "msg": "the picture is missing"}])
    return form.picture
