"""Other web sites whose pages may call the service, as browsers enforce it (CORS)."""

import re
from collections.abc import Iterable, Mapping

from fastapi.responses import Response

from fdch.errors import SettingError

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
_PREFLIGHT = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
    "access-control-allow-headers": "authorization, content-type, x-request-id",
    "access-control-max-age": "600",
}
_READABLE = b"retry-after, x-request-id"


class Origins:
    """The origins that are allowed: each as a browser sends it, compared exactly.

    >>> Origins(["https://shop.example"]).headers({b"origin": b"https://other.example"})
    [(b'vary', b'origin')]
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(_check(each).encode() for each in allowed)

    def headers(self, given: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        """Return the headers of a reply, which let pages of allowed origins read it."""
        if not self._allowed:
            return []
        vary = (b"vary", b"origin")
        if (origin := given.get(b"origin")) not in self._allowed:
            return [vary]
        return [
            vary,
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _READABLE),
        ]

    def preflight(self, method: str, given: Mapping[bytes, bytes]) -> Response | None:
        """Answer a browser that wants to know what an allowed page may send."""
        is_allowed = given.get(b"origin") in self._allowed
        is_one = method == "OPTIONS" and b"access-control-request-method" in given
        return Response(None, 204, _PREFLIGHT) if is_allowed and is_one else None


def _check(origin: str) -> str:
    if not _ORIGIN.fullmatch(origin):
        raise SettingError(
            f"'{origin}' is not an origin. Give the scheme and the host of a site in "
            "lower case, and its port if it has one, such as 'https://shop.example' or "
            "'http://127.0.0.1:3000', without a path."
        )
    return origin
