"""What commands print: results on standard output, all else on standard error."""

import json
import os
from collections.abc import Iterable, Mapping
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
    """Print a result, which may hold what files said."""
    click.echo(plain(str(text), lines=True))


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


def require_place(path: Path, *endings: str, inputs: Iterable[object] = ()) -> Path:
    """Refuse, before any work, a file that cannot be written or is to be kept.

    Args:
        path: The file to write.
        endings: What its name may end in; anything if not given.
        inputs: What the command reads, as named on the command line.

    Returns:
        The file itself, or what it leads to where it is a link.
    """
    # the functions of os.path take no offence at folders that may not be read
    file = Path(os.path.realpath(path)) if os.path.islink(path) else path
    if os.path.isdir(file):
        raise RunError(f"'{path}' is a folder; name a file to write.")
    if endings and not path.name.lower().endswith(endings):
        raise RunError(
            f"'{path}' is to be a file that ends in {endings[0]}; name one, such as "
            f"'{path.with_suffix(endings[0])}'."
        )
    if os.path.lexists(file) and not os.path.isfile(file):
        raise RunError(f"'{path}' is not an ordinary file, so it is left alone.")
    if any(_is_same(file, str(name)) for name in inputs):
        raise RunError(f"'{path}' is read by this command; name another file to write.")
    _require_folder(file)
    return file


def _require_folder(file: Path) -> None:
    folder = file.parent
    if os.path.isfile(folder):
        raise RunError(f"'{folder}' is a file, so nothing can be written into it.")
    if not os.path.isdir(folder):
        raise RunError(f"there is no folder '{folder}' to write into; make it.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RunError(
            f"'{file}' cannot be written: the folder '{folder}' may not be written to. "
            "Choose another place."
        )


def _is_same(file: Path, name: str) -> bool:
    """Compare a file with data, which may be named as reader:FILE."""
    return any(
        os.path.exists(file) and os.path.exists(each) and os.path.samefile(file, each)
        for each in (name, name.partition(":")[2])
    )
