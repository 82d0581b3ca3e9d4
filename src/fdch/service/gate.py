"""The gate that all requests pass: tokens, rates, sizes and times."""

import asyncio
import logging
import math
import time
import traceback
from collections.abc import Iterable

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from fdch.service.app import INDEX, Site, route_at
from fdch.service.http.bodies import (
    HeldBytes,
    bad_head,
    max_body_bytes,
    read_body,
    read_length,
    require_short_head,
)
from fdch.service.http.exchange import (
    Reply,
    client_address,
    read_headers,
    replay_body,
)
from fdch.service.http.limits import RateLimit, Shares, network_of
from fdch.service.http.log_lines import FIELDS, HEADER, REQUEST_ID, choose_id
from fdch.service.http.origins import Origins
from fdch.service.http.problems import (
    SECURITY_HEADERS,
    Problem,
    internal_error,
    too_busy,
)
from fdch.service.http.tokens import MAY_READ, Holder, Right
from fdch.service.service import Service

OPEN = ("/", "/health", "/ready", "/docs", "/openapi.json")
OPEN_FOLDER = "/static/"
ITEMS = "/v1/items/"
RELOAD = "/v1/reload"
# what costs nothing is not counted; pictures, many to a page, have their own rate
UNCOUNTED = ("/", "/health", "/ready")
PICTURES = (b"/picture", b"/thumbnail")
PICTURES_TO_A_REQUEST = 50
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"))
WRITING = frozenset(("PUT", "DELETE", "PATCH"))
GONE = 499  # nginx's status for a client that disconnected
_log = logging.getLogger("fdch.service")


class Gate:
    """Wraps an application; see the module.

    Args:
        site: The routes of all indexes.
        service: Whose limits, tokens and metrics hold for all.
        hosts: Names by which the service may be called; None for any.
        origins: Other sites whose pages may call the service.
    """

    def __init__(
        self,
        site: Site,
        service: Service,
        hosts: frozenset[str] | None = None,
        origins: Iterable[str] = (),
    ) -> None:
        self._app, self._service, self._hosts = site, service, hosts
        self._origins = Origins(origins)
        rate = service.limits.rate
        self._rate = None if rate is None else RateLimit(rate)
        self._pictures = RateLimit((rate or 1) * PICTURES_TO_A_REQUEST)
        self._active = 0
        self._held = HeldBytes(service.limits)
        self._shares = Shares()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, Reply(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        began = time.perf_counter()
        given = dict(scope["headers"])
        REQUEST_ID.set(choose_id(given.get(HEADER)))
        reply.headers = [
            *SECURITY_HEADERS,
            (HEADER, REQUEST_ID.get().encode()),
            *self._origins.headers(given),
        ]
        network = network_of(client_address(scope))
        held = self._shares.take(network)
        try:
            if held > self._service.limits.address_connections:  # behind a proxy
                raise too_busy("too many requests from this address are waiting.")
            await self._admit(scope, receive, reply)
        except Problem as problem:
            await reply.refuse(scope, receive, problem)
        except ClientDisconnect:
            reply.status = reply.status or GONE
        except TimeoutError:
            await reply.refuse(scope, receive, too_busy("the request took too long."))
        except Exception as error:
            # where it happened; its message might repeat the query
            trace = "".join(traceback.format_tb(error.__traceback__))
            _log.error("%s at\n%s", type(error).__name__, trace)
            await reply.refuse(scope, receive, internal_error())
        finally:
            self._shares.release(network)
            self._record(scope, reply.status, time.perf_counter() - began)

    async def _admit(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        limits = self._service.limits
        require_short_head(scope, limits.head_bytes)
        self._app.locate(scope)
        if scope["path"].startswith(ITEMS):
            # ids are still encoded, so that a slash in one is not a path's
            scope["path"] = scope["raw_path"].decode("ascii", "replace")
        if scope["http_version"] not in ("1.0", "1.1"):
            raise bad_head("unsupported HTTP version", "Use HTTP/1.1.")
        headers = read_headers(scope)
        self._require_host(headers)
        preflight = self._origins.preflight(scope["method"], headers)
        if preflight is not None:
            await preflight(scope, receive, reply.send)
            return
        holder = self._holder(headers)
        self._require_rate(scope, headers, holder)
        self._require_right(scope, headers, holder)
        scope[MAY_READ] = holder is not None or self._service.tokens is None
        length = read_length(scope, headers, max_body_bytes(headers, limits))
        with self._held.count(_key(scope, holder)) as take:
            if length:
                arrived = read_body(receive, length, limits.body_seconds, take)
                receive = replay_body(await arrived, receive)
            await self._work(scope, receive, reply)

    async def _work(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        """Work on a request that has arrived; slow uploads take no place."""
        limits = self._service.limits
        if self._active >= limits.concurrent and scope["path"] not in OPEN:
            raise too_busy("too many requests are waiting.")
        if scope["method"] == "HEAD":  # the server sends no body to it
            scope = {**scope, "method": "GET"}
        self._count(1)
        try:
            async with asyncio.timeout(limits.seconds) as limit:

                def begin() -> None:
                    # from now on only the client takes time
                    if not limit.expired():
                        limit.reschedule(None)
                    self._count(-1)

                reply.on_start = begin
                await self._app(scope, receive, reply.send)
        finally:
            if not reply.status:
                self._count(-1)

    def _count(self, more: int) -> None:
        self._active += more
        self._service.metrics.active.set(self._active)

    def _require_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse other names than our own, by which a web page could reach us."""
        if self._hosts is None:
            return
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in self._hosts:
            message = "unknown host name."
            hint = f"Use one of {', '.join(sorted(self._hosts))}."
            raise Problem(421, "wrong_host", message, hint)

    def _holder(self, headers: dict[bytes, bytes]) -> Holder | None:
        """Find the holder of a request's token."""
        given, tokens = headers.get(b"authorization"), self._service.tokens
        if given is None or tokens is None:
            return None
        scheme, _, token = given.decode("latin-1").partition(" ")
        return tokens.holder(token.strip()) if scheme.lower() == "bearer" else None

    def _require_right(
        self, scope: Scope, headers: dict[bytes, bytes], holder: Holder | None
    ) -> None:
        if self._service.tokens is not None and holder is None:
            # a wrong token is refused, even where none is needed
            if b"authorization" in headers:
                raise _unauthorized("unknown token.")
            if scope["path"] not in OPEN and not scope["path"].startswith(OPEN_FOLDER):
                raise _unauthorized("this service needs a token.")
        if scope["method"] not in WRITING and scope["path"] != RELOAD:
            return
        if holder is None or holder.right is not Right.WRITE:
            message = "this request needs a write token."
            hint = "Send 'Authorization: Bearer TOKEN' with a write token."
        elif not self._service.can_write and scope["path"] != RELOAD:
            message = "this service was started without a write token."
            hint = "Restart it: then it opens the index for writing."
        else:
            return
        raise Problem(403, "writing_refused", message, hint)

    def _require_rate(
        self, scope: Scope, headers: dict[bytes, bytes], holder: Holder | None
    ) -> None:
        if self._rate is None:
            return
        limit, what = self._rate, "requests"
        # guesses of tokens count on every route
        if holder is not None or b"authorization" not in headers:
            path = scope["path"]
            if path in UNCOUNTED or path.startswith(OPEN_FOLDER):
                return
            if path.startswith(ITEMS) and scope["raw_path"].endswith(PICTURES):
                limit, what = self._pictures, "pictures"
        seconds = limit.wait(_key(scope, holder))
        if seconds:
            message = f"more than {limit.per_minute} {what} a minute."
            hint = "Try again after the seconds that Retry-After gives."
            after = {"retry-after": str(math.ceil(seconds))}
            raise Problem(429, "too_many_requests", message, hint, after)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_at(self._app.routes, scope)
        # a client may invent methods, but not fill the memory with their names
        method = scope["method"] if scope["method"] in METHODS else "other"
        metrics = self._service.metrics
        metrics.requests.labels(method, route, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        if not _log.isEnabledFor(logging.INFO):
            return
        fields = {
            "client": client_address(scope),
            "method": method,
            "path": route,  # as a template: the address itself may hold a query
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
        }
        if INDEX in scope:
            fields["index"] = scope[INDEX]
        line = "%(client)s %(method)s %(path)s %(status)d %(milliseconds).1f ms"
        _log.info(line, fields, extra={FIELDS: fields})


def _key(scope: Scope, holder: Holder | None) -> str:
    """Identify a client: by its token, or by its address."""
    return f"address {client_address(scope)}" if holder is None else holder.key


def _unauthorized(message: str) -> Problem:
    hint = "Send 'Authorization: Bearer TOKEN' with a token you were given."
    return Problem(401, "unauthorized", message, hint, {"www-authenticate": "Bearer"})
