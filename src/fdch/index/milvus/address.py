"""Where a collection is: milvus://host:port/collection[?options]."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from fdch.errors import SettingError, suggestion

SCHEME = "milvus"
PORT = 19530
MODEL_SUFFIX = "_model"
MAX_NAME = 200
# what each option may be; the first is the default
OPTIONS = {
    "consistency": ("session", "strong", "bounded", "eventually"),
    "tls": ("0", "1"),
    "shards": ("1", "2", "4", "8", "16"),
}
TOKEN_VARIABLE = "FDCH_MILVUS_TOKEN"


@dataclass(frozen=True)
class Address:
    """A collection on a server; the token is no part of it.

    >>> str(Address.parse("milvus://localhost/photos"))
    'milvus://localhost:19530/photos'
    """

    host: str
    port: int
    collection: str
    consistency: str = "session"  # which writes a search must have seen
    tls: bool = False
    shards: int = 1  # streams among which a new collection divides its writes

    def __str__(self) -> str:
        return f"{SCHEME}://{self.server}/{self.collection}"

    @property
    def server(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    @property
    def level(self) -> str:
        """Milvus' own name of the consistency."""
        return self.consistency.capitalize()

    @property
    def model_collection(self) -> str:
        """Name of the collection that keeps the model."""
        return self.collection + MODEL_SUFFIX

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read an address; errors do not repeat a password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or PORT
        except ValueError as problem:
            raise SettingError(
                _explain_address(f"it cannot be read ({problem})")
            ) from None
        if "@" in parts.netloc:
            raise SettingError(
                "a Milvus address holds no user or password, since addresses end up "
                f"in logs. Set {TOKEN_VARIABLE} to 'user:password' or to a token."
            )
        if parts.scheme != SCHEME or not host:
            raise SettingError(_explain_address(f"'{url}' names no server"))
        if ":" in host:
            raise SettingError(
                _explain_address(f"'{host}' is not a name or IPv4 address")
            )
        consistency, tls, shards = _read_options(parts.query)
        collection = _read_collection(parts.path)
        return cls(host, port, collection, consistency, tls == "1", int(shards))


def _read_collection(path: str) -> str:
    name = path.strip("/")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or len(name) > MAX_NAME:
        raise SettingError(
            _explain_address(
                f"'{name}' cannot name a collection (letters, digits and '_', no digit "
                f"first, at most {MAX_NAME})"
            )
        )
    if name.endswith(MODEL_SUFFIX):
        raise SettingError(
            f"collection '{name}' ends in '{MODEL_SUFFIX}', which is kept for models. "
            "Name the collection of codes."
        )
    return name


def _read_options(query: str) -> Iterator[str]:
    """Return the value of each of OPTIONS."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name in given:
        if name not in OPTIONS:
            raise SettingError(
                f"unknown option '{name}' in a Milvus address"
                f"{suggestion(name, OPTIONS)}"
            )
    for name, choices in OPTIONS.items():
        value = given.get(name, choices[0])
        if value not in choices:
            raise SettingError(
                f"{name} is '{value}' in a Milvus address; give one of "
                f"{', '.join(choices)}."
            )
        yield value


def _explain_address(reason: str) -> str:
    return (
        f"a Milvus address reads milvus://host:port/collection, but {reason}. "
        f"The port is {PORT} unless given."
    )
