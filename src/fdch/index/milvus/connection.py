"""A server that may be away: calls are tried again for a while, then refused."""

import logging
import os
import time
from typing import Any

from fdch.errors import FdchError, IndexFolderError, MissingExtra, StoreAway
from fdch.index.milvus.address import TOKEN_VARIABLE, Address

CONNECT_SECONDS = 10.0
TIMEOUT_SECONDS = 30.0
FIRST_WAIT = 0.1
LONGEST_WAIT = 3.0
COLLECTION_MISSING = 100
TRANSIENT_CODES = {2, 8}  # not connected, too many requests
TRANSIENT = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED"}
REFUSED = {"UNAUTHENTICATED", "PERMISSION_DENIED"}


class Connection:
    """One client of a server; safe to use from several threads.

    A call is retried for `retry_seconds` while the server is away or busy.
    Requests it refuses are never repeated.
    """

    def __init__(
        self, address: Address, retry_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self.address = address
        self.retry_seconds = retry_seconds
        self._client = _connect(address, min(CONNECT_SECONDS, retry_seconds))

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call a function of the client.

        Raises:
            StoreAway: The server did not answer in time.
            IndexFolderError: It answered that it will not.
        """
        function = getattr(self._client, name)
        end, wait = time.monotonic() + self.retry_seconds, FIRST_WAIT
        while True:
            left = max(end - time.monotonic(), FIRST_WAIT)
            try:
                return function(*arguments, timeout=left, **options)
            except Exception as problem:
                if not is_transient(problem):
                    raise refusal(self.address, problem) from problem
                if time.monotonic() + wait >= end:
                    raise away(self.address, problem) from problem
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def is_transient(problem: Exception) -> bool:
    """Return whether the same request may succeed a little later."""
    if is_unknown_user(problem):
        return False
    if _status(problem) in TRANSIENT or _code(problem) in TRANSIENT_CODES:
        return True
    # A server that starts says so in words only.
    says_not_ready = "not ready" in str(getattr(problem, "message", ""))
    return says_not_ready or bool(getattr(problem, "retriable", False))


def is_unknown_user(problem: Exception) -> bool:
    """Return whether the server refuses a user; while connecting, that is a cause."""
    return any(
        _status(one) in REFUSED or "auth check failure" in str(one)
        for one in (problem, problem.__cause__)
        if isinstance(one, Exception)
    )


def away(address: Address, problem: Exception) -> StoreAway:
    """Say that a server cannot be reached, and what to do."""
    return StoreAway(
        f"no Milvus server answered at {address.host}, port {address.port} "
        f"({_reason(problem)}). Start it, or check host, port and firewall; "
        "what was acknowledged before is not affected."
    )


def refusal(address: Address, problem: Exception) -> Exception:
    """Say what a server refused; errors that are not the server's pass unchanged."""
    if is_unknown_user(problem):
        return IndexFolderError(
            f"the Milvus server at {address.server} refused the user or token. Set "
            f"{TOKEN_VARIABLE} to 'user:password' or to a token it knows."
        )
    if _code(problem) == COLLECTION_MISSING:
        return IndexFolderError(
            f"there is no collection '{address.collection}' at {address.server} (any "
            "more). Make it with 'fdch index create', or check the name."
        )
    if isinstance(problem, FdchError) or _code(problem) is None:
        return problem
    return IndexFolderError(
        f"the Milvus server at {address.server} refused a request for "
        f"'{address.collection}': {_reason(problem)}"
    )


def _connect(address: Address, seconds: float) -> Any:
    try:
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException
    except ImportError:
        raise MissingExtra("an index on Milvus", "milvus") from None
    # Its errors come back as ours; its own log would repeat each with a trace.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    scheme = "https" if address.tls else "http"
    try:
        return MilvusClient(
            uri=f"{scheme}://{address.server}",
            token=os.environ.get(TOKEN_VARIABLE, ""),
            timeout=seconds,
        )
    except MilvusException as problem:
        known = refusal if is_unknown_user(problem) else away
        raise known(address, problem) from None


def _code(problem: Exception) -> Any:
    """Return Milvus' number or gRPC's status, which may come as a function."""
    code = getattr(problem, "code", None)
    return code() if callable(code) else code


def _status(problem: Exception) -> str | None:
    name = getattr(_code(problem), "name", None)
    return name if isinstance(name, str) else None


def _reason(problem: Exception) -> str:
    details = getattr(problem, "details", None)
    text = details() if callable(details) else getattr(problem, "message", "")
    return " ".join(str(text or problem).split())[:300]
