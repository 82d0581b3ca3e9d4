"""Services that run in threads of the tests, and things to send them."""

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpx._config import DEFAULT_TIMEOUT_CONFIG

from fdch import Client, Index
from fdch.bench.serving.raw_requests import READ, WRITE, picture_bytes
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.tokens import Right, Tokens
from fdch.service.service import Service
from fdch.service.serving import LOOPBACK_NAMES, Server, listen, make_server

__all__ = [
    "READ",
    "TOKENS",
    "WRITE",
    "Running",
    "picture_bytes",
    "running",
    "wait_until",
]
TOKENS = Tokens({READ: Right.READ, WRITE: Right.WRITE})
# httpx gives up after 5 s, which a busy machine may need
for _phase in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _phase, 60.0)


@dataclass
class Running:
    """A service that runs in a thread."""

    service: Service
    server: Server
    port: int
    thread: threading.Thread

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str | None = None) -> Client:
        return Client(self.url, token, retries=0)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(60)
        assert not self.thread.is_alive()


@contextlib.contextmanager
def running(
    index: str | Path,
    *,
    tokens: Tokens | None = None,
    limits: ServiceLimits | None = None,
    server: Mapping[str, Any] | None = None,
    **more,
):
    """Serve an index from a thread, ready for requests."""
    opened = Index.open(index, writable=tokens is not None and tokens.can_write)
    service = Service(opened, tokens=tokens, limits=limits, **more)
    with listen("127.0.0.1", 0) as listener:
        names = LOOPBACK_NAMES if tokens is None else None
        made = make_server(service, names=names, **(server or {}))
        thread = threading.Thread(
            target=made.run, kwargs={"sockets": [listener]}, daemon=True
        )
        served = Running(service, made, listener.getsockname()[1], thread)
        thread.start()
        try:
            wait_until(lambda: service.is_ready or service.trouble)
            assert service.trouble is None
            yield served
        finally:
            served.stop()


def wait_until(is_so, seconds=120.0):
    """Wait for something that takes a while on a busy machine."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
