"""Errors in one shape: a code for programs, a message and a hint for people."""

import errno
import json
import logging
import sqlite3
from collections.abc import Mapping

from fastapi.responses import Response

from fdch.errors import (
    BrokenPicture,
    DataError,
    FdchError,
    IndexBusy,
    SettingError,
    StoreAway,
    UnknownWords,
)

# of every reply
SECURITY_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' blob: data:; object-src 'none'; "
        b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_MADE = "Report it to whoever runs the service; the change was not made."
_log = logging.getLogger("fdch.service")


class Problem(Exception):
    """A request that is answered with an error, and the headers sent along."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.message, self.hint = message, hint
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return the reply."""
        error = {"code": self.code, "message": self.message, "hint": self.hint}
        # a message may quote half of a character, which is no UTF-8
        content = json.dumps({"error": error}).encode("ascii")
        headers = {"cache-control": "no-store"} | self.headers
        return Response(content, self.status, headers, "application/json")


def too_busy(message: str, seconds: int = 1) -> Problem:
    """Reply that the service is busy; try again later."""
    hint = "Try again after the seconds that Retry-After gives."
    return Problem(503, "busy", message, hint, {"retry-after": str(seconds)})


def loading() -> Problem:
    """Reply that the model is being loaded."""
    hint = "It takes seconds; '/ready' says when it is done."
    message = "the model is being loaded."
    return Problem(503, "loading", message, hint, {"retry-after": "5"})


def lost_index() -> Problem:
    """Reply that the index is not where it was opened."""
    message = "the index was removed or replaced."
    hint = "Report it to whoever runs the service: put it back, or open it again."
    return Problem(503, "index_lost", message, hint, {"retry-after": "60"})


def to_problem(error: FdchError) -> Problem:
    """Translate an error of the package to HTTP."""
    if isinstance(error, UnknownWords):
        hint = "Use other words; those the model has learned are known."
        return Problem(422, "unknown_words", str(error), hint)
    if isinstance(error, BrokenPicture):
        hint = "Send a whole JPEG, PNG, WebP, GIF, BMP or TIFF within the limits."
        return Problem(422, "broken_picture", str(error), hint)
    if isinstance(error, SettingError | DataError):
        hint = "Change the request; /docs lists what each request accepts."
        return Problem(422, "bad_request", str(error), hint)
    # what follows is not the client's fault, and may name paths
    _log.error("%s: %s", type(error).__name__, error)
    if isinstance(error, StoreAway | IndexBusy):
        return too_busy("the index cannot be reached at present.", 5)
    return _disk_full() if _is_full(error.__cause__) else internal_error()


def disk_problem(error: OSError) -> Problem:
    """Reply that a change could not be written, and why."""
    reason = error.strerror or type(error).__name__
    _log.error("a change could not be written: %s", reason)
    if _is_full(error):
        return _disk_full()
    message = f"the disk of the index cannot be written: {reason}."
    return Problem(503, "disk", message, _NOT_MADE, {"retry-after": "60"})


def _disk_full() -> Problem:
    return Problem(507, "disk_full", "the disk of the index is full.", _NOT_MADE)


def _is_full(error: object) -> bool:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in _FULL


def internal_error() -> Problem:
    """Reply without details; the log has them."""
    hint = "Report it to whoever runs the service; its log has more."
    return Problem(500, "internal", "the service failed to handle this request.", hint)
