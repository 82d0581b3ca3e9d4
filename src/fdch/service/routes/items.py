"""Routes of items: their records, pictures and changes."""

from functools import partial
from typing import Annotated

from fastapi import FastAPI, Header, Query, Request
from fastapi.responses import Response

from fdch.service.http.limits import DEFAULT_THUMBNAIL, MAX_THUMBNAIL, MIN_THUMBNAIL
from fdch.service.http.messages import ItemReply, ItemRequest, PutReply
from fdch.service.http.uploads import (
    JSON,
    content_type,
    invalid,
    json_body,
    parse_json,
    read_form,
)
from fdch.service.index.writing import Put, Removal
from fdch.service.reference import openapi
from fdch.service.routes import replies
from fdch.service.service import Service

_SIDE = "Pixels of the longer side."
Size = Annotated[int, Query(ge=MIN_THUMBNAIL, le=MAX_THUMBNAIL, description=_SIDE)]
Tags = Annotated[str | None, Header(include_in_schema=False, alias="if-none-match")]


def add_items(app: FastAPI, service: Service) -> None:
    """Add the routes of items and their pictures."""
    get = partial(app.get, tags=["items"])

    @get(
        "/v1/items/{id}",
        summary="Describe an item",
        response_model=ItemReply,
    )
    async def item(id: str) -> Response:
        found = await service.item(replies.read_id(id))
        return replies.ok(replies.item_json(found, service.address))

    @get(
        "/v1/items/{id}/picture",
        summary="Return an item's picture",
        response_class=Response,
        openapi_extra=openapi.PICTURE_REPLIES,
    )
    async def picture(id: str, known: Tags = None) -> Response:
        found = await service.item(replies.read_id(id))
        give = service.current.pictures.picture
        return replies.picture(await service.decoding.run(give, found, known))

    @get(
        "/v1/items/{id}/thumbnail",
        summary="Return a thumbnail of an item's picture, as a JPEG",
        response_class=Response,
        openapi_extra=openapi.PICTURE_REPLIES,
    )
    async def thumbnail(
        id: str, size: Size = DEFAULT_THUMBNAIL, known: Tags = None
    ) -> Response:
        found = await service.item(replies.read_id(id))
        give = service.current.pictures.thumbnail
        return replies.picture(await service.decoding.run(give, found, size, known))

    @app.put(
        "/v1/items/{id}",
        summary="Write an item; needs a write token",
        response_model=PutReply,
        status_code=201,
        responses={200: {"model": PutReply, "description": "It was replaced."}},
        openapi_extra=openapi.PUT,
        tags=["items"],
    )
    async def put(id: str, request: Request) -> Response:
        name = replies.read_new_id(id)
        if content_type(request) == JSON:
            change = Put(name, await json_body(ItemRequest, request))
        else:
            form = await read_form(request, ("item",))
            given = form.fields.get("item", ["{}"])
            if len(given) > 1:
                raise invalid([{"loc": ("item",), "msg": "it came several times"}])
            change = Put(name, parse_json(ItemRequest, given[0]), form.picture)
            await service.check(form.picture)
        written = await service.change(change)
        content = {"id": name, "kind": written.kind, "created": not written.existed}
        return replies.ok(content, 200 if written.existed else 201)

    @app.delete(
        "/v1/items/{id}",
        summary="Remove an item; needs a write token",
        status_code=204,
        response_class=Response,
        tags=["items"],
    )
    async def delete(id: str) -> Response:
        name = replies.read_id(id)
        written = await service.change(Removal(name))
        if not written.existed:
            await service.item(name)
        return Response(status_code=204)
