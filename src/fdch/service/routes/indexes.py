"""Routes that list the indexes of a service."""

from fastapi import FastAPI
from fastapi.responses import Response

from fdch.service import replies
from fdch.service.http.problems import Problem
from fdch.service.messages import IndexesReply
from fdch.service.service import Service


def add_indexes(app: FastAPI, service: Service) -> None:
    """Add the list of indexes, and what is said of those that are not in it."""

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
