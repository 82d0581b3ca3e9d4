"""The address of a client behind a trusted proxy, and nothing else."""

import ipaddress
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

_HEADER = b"x-forwarded-for"


class Forwarded:
    """Wraps an application: takes a trusted proxy's word on a client's address."""

    def __init__(self, app: ASGIApp, proxies: str) -> None:
        trusting: Any = ProxyHeadersMiddleware
        self._app: ASGIApp = trusting(app, proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what is no address is not believed to be one."""
        if scope["type"] == "http":
            scope["headers"] = [
                (name, _keep_addresses(value) if name == _HEADER else value)
                for name, value in scope["headers"]
            ]
        await self._app(scope, receive, send)


def _keep_addresses(given: bytes) -> bytes:
    found = filter(None, map(_address, given.decode("latin-1").split(",")))
    return ", ".join(found).encode()


def _address(text: str) -> str | None:
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
