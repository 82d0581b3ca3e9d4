"""What commands print: results on standard output, all else on standard error."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fdch.errors import RunError

NAMED = 10


def plain(text: str, most: int | None = None, lines: bool = False) -> str:
    r"""Make a text fit to print: no control characters, and not too long.

    Texts and ids come from files; a terminal would obey what they hold.

    >>> plain("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    shown = "".join(
        c if c.isprintable() or (lines and c == "\n") else ascii(c)[1:-1] for c in text
    )
    if most is not None and len(shown) > most:
        return shown[: most - 1] + "…"
    return shown


def say(text: object = "") -> None:
    """Print a result."""
    click.echo(str(text))


def note(text: str) -> None:
    """Print what is not a result: standard output stays for results."""
    click.echo(plain(text, lines=True), err=True)


def say_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document, in ASCII so that no terminal or pipe can break it."""
    click.echo(json.dumps(document, indent=1, allow_nan=False))


def count(number: int, noun: str, plural: str = "") -> str:
    """Write "1 pair" or "2,000 pairs".

    >>> count(2000, "query", "queries")
    '2,000 queries'
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def require_place(path: Path) -> None:
    """Refuse, before any work, a file that cannot be written."""
    if path.is_dir():
        raise RunError(f"'{path}' is a folder; name a file to write.")
    if path.parent.is_file():
        raise RunError(f"'{path.parent}' is a file, so nothing can be written into it.")
    if not path.absolute().parent.is_dir():
        raise RunError(f"there is no folder '{path.parent}' to write into; make it.")
