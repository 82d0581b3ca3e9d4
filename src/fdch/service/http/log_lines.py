"""Ids of requests, and log lines as JSON documents that carry them."""

import itertools
import json
import logging
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime

REQUEST_ID = ContextVar("request_id", default="")
HEADER = b"x-request-id"
FIELDS = "request"  # what a line knows of its request, as `extra`
# random only once: the system's random bytes cost each request a switch of threads
_PROCESS, _numbers = secrets.token_hex(4), itertools.count()
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


def choose_id(given: bytes | None) -> str:
    """Take the id that a client or a proxy gave a request, or make one.

    >>> choose_id(b"a-1"), len(choose_id(b"not an id"))
    ('a-1', 16)
    """
    if given is not None and _ID.fullmatch(given):
        return given.decode()
    return f"{_PROCESS}{next(_numbers):08x}"


class JsonLines(logging.Formatter):
    """Writes each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: of a request its fields, else the message."""
        time = datetime.fromtimestamp(record.created, UTC)
        fields = getattr(record, FIELDS, None) or {"message": record.getMessage()}
        line = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "id": REQUEST_ID.get() or None,
            **fields,
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)
