"""Read and write tokens from a file, compared in constant time."""

import hashlib
import hmac
import os
import re
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from fdch.errors import SettingError

MIN_CHARACTERS = 16
# key of a request's scope: whether it may know what the index holds
MAY_READ = "fdch.may_read"
_MAX_BYTES = 2**20
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,512}")
_LINES = "Give lines such as 'read TOKEN' and 'write TOKEN'."


class Right(IntEnum):
    """The right of a token; writing includes reading."""

    READ = 1
    WRITE = 2


class Holder(NamedTuple):
    """The sender of a known token; the key identifies it without showing the token."""

    right: Right
    key: str


class Tokens:
    """The tokens of a service with what each allows; only digests are kept.

    >>> Tokens({"a-token-to-read-with": Right.READ}).holder("a wrong one") is None
    True
    """

    def __init__(self, known: dict[str, Right]) -> None:
        self._known = [(_digest(token), right) for token, right in known.items()]
        self._path: Path | None = None
        self._version: tuple[int, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """Read a file with lines "read TOKEN" and "write TOKEN".

        Raises:
            SettingError: Naming the line that is wrong, never its token.
        """
        version = _version(path)
        tokens = cls(_read(path))
        tokens._path, tokens._version = path, version
        return tokens

    def refresh(self) -> bool:
        """Read the file again if it has changed; say whether it has.

        Raises:
            SettingError: Once for each change; the tokens are then the last good ones.
        """
        if self._path is None or (version := _version(self._path)) == self._version:
            return False
        self._version = version
        self._known = Tokens(_read(self._path))._known
        return True

    @property
    def can_write(self) -> bool:
        """Whether any token allows writing."""
        return any(right is Right.WRITE for _, right in self._known)

    def holder(self, token: str) -> Holder | None:
        """Find who holds a token; as slow for a wrong one as for a right one."""
        given = _digest(token)
        found: Right | None = None
        for known, right in self._known:
            if hmac.compare_digest(known, given):
                found = right
        return None if found is None else Holder(found, given.hex()[:16])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _version(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> dict[str, Right]:
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
            mode = os.fstat(file.fileno()).st_mode
        lines = content.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SettingError(f"token file '{path}': {reason}. {_LINES}") from problem
    if len(content) > _MAX_BYTES:
        raise SettingError(f"token file '{path}' is larger than 1 MiB.")
    if os.name == "posix" and mode & 0o002:
        raise SettingError(
            f"token file '{path}' can be written by anyone: 'chmod 600' it."
        )
    known: dict[str, Right] = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if words:
            token, right = _entry(path, number, words)
            known[token] = max(right, known.get(token, right))
    if not known:
        raise SettingError(f"token file '{path}' has no token. {_LINES}")
    return known


def _entry(path: Path, number: int, words: list[str]) -> tuple[str, Right]:
    where = f"line {number} of token file '{path}'"
    if len(words) != 2 or words[0] not in ("read", "write"):
        raise SettingError(f"{where} is not 'read TOKEN' or 'write TOKEN'.")
    token = words[1]
    if len(token) < MIN_CHARACTERS or not _TOKEN.fullmatch(token):
        raise SettingError(
            f"{where}: a token has {MIN_CHARACTERS} to 512 letters, digits and "
            "signs of ._~+/=-. Make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token, Right[words[0].upper()]
