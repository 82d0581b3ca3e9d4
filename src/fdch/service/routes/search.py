"""Routes that search and encode."""

from functools import partial

from fastapi import FastAPI, Request
from fastapi.responses import Response

from fdch.service.http.messages import (
    BatchReply,
    EncodeReply,
    EncodeRequest,
    ImageSearch,
    SearchQuery,
    SearchReply,
    SearchRequest,
)
from fdch.service.http.uploads import json_body, parse_fields, read_form
from fdch.service.index.answering import Query
from fdch.service.reference import openapi
from fdch.service.routes import replies
from fdch.service.service import Service


def add_searches(app: FastAPI, service: Service) -> None:
    """Add the routes that search and encode."""
    post = partial(app.post, tags=["search"])

    @post(
        "/v1/search",
        summary="Find what fits a text, items, several together; or many texts",
        response_model=SearchReply | BatchReply,
        openapi_extra=openapi.SEARCH,
    )
    async def search(request: Request) -> Response:
        body = await json_body(SearchRequest, request)
        if body.texts is not None:
            found = await service.search(Query("text", body.texts, body.params))
        elif body.id is not None:
            await service.item(body.id)
            found = await service.search(Query("id", [body.id], body.params))
        else:
            found = await service.compose(body.compose(body.text), body.params)
        if body.texts is None:
            return replies.ok(replies.results_json(found[0], service.address))
        batches = [replies.results_json(each, service.address) for each in found]
        return replies.ok({"batches": batches})

    @app.get(
        "/v1/search",
        summary="Find what fits a text, by an address alone",
        response_model=SearchReply,
        openapi_extra=openapi.SEARCH_QUERY,
        tags=["search"],
    )
    async def search_query(request: Request) -> Response:
        given = request.query_params
        fields = {name: given.getlist(name) for name in given}
        query = parse_fields(SearchQuery, fields)
        found = await service.compose(query.query, query.params)
        return replies.ok(replies.results_json(found[0], service.address))

    @post(
        "/v1/search/image",
        summary="Find what fits a picture, and what is given beside it",
        response_model=SearchReply,
        openapi_extra=openapi.SEARCH_IMAGE,
    )
    async def search_image(request: Request) -> Response:
        form = await read_form(request, ImageSearch.model_fields)
        given = parse_fields(ImageSearch, form.fields)
        pixels = await service.decode(form.picture)
        found = await service.compose(given.compose(given.text, pixels), given.params)
        return replies.ok(replies.results_json(found[0], service.address))

    @post(
        "/v1/encode",
        summary="Return the codes of texts",
        response_model=EncodeReply,
        openapi_extra=openapi.ENCODE,
    )
    async def encode(request: Request) -> Response:
        body = await json_body(EncodeRequest, request)
        codes = await service.encode(Query("text", body.inputs, None))
        return replies.ok(replies.codes_json(codes, service.index.fingerprint))

    @post(
        "/v1/encode/image",
        summary="Return the code of a picture",
        response_model=EncodeReply,
        openapi_extra=openapi.ENCODE_IMAGE,
    )
    async def encode_image(request: Request) -> Response:
        form = await read_form(request, ())
        pixels = await service.decode(form.picture)
        codes = await service.encode(Query("image", [pixels], None))
        return replies.ok(replies.codes_json(codes, service.index.fingerprint))
