"""What commands print: results on standard output, all else on standard error."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fdch.errors import RunError, count_noun

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet, Skipped
    from fdch.data.splits import Split
    from fdch.evaluation.tables import Cell

NAMED = 10
Each = TypeVar("Each")
count = count_noun


def plain(text: str, most: int | None = None, lines: bool = False) -> str:
    r"""Make a text fit to print: no control characters, and not too long.

    Texts and ids come from files; a terminal would obey what they hold.

    >>> plain("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    shown = "".join(
        c if c.isprintable() or (lines and c == "\n") else ascii(c)[1:-1] for c in text
    )
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


def say(text: object = "") -> None:
    """Print a result, which may contain text from files."""
    click.echo(plain(str(text), lines=True))


def note(text: str) -> None:
    """Print to standard error; standard output is for results."""
    click.echo(plain(text, lines=True), err=True)


def say_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document, in ASCII so that no terminal or pipe can break it."""
    click.echo(json.dumps(document, indent=1, allow_nan=False))


def report(document: Mapping[str, Any], as_json: bool, *lines: str) -> None:
    """Print a document, or the lines that say the same to people."""
    if as_json:
        say_json(document)
    else:
        say("\n".join(lines))


def lay_out(
    header: Sequence[str],
    rows: "Iterable[Sequence[Cell]]",
    notes: Iterable[str] = (),
) -> str:
    """Lay out a table, and notes below it."""
    from fdch.evaluation.tables import Table

    return Table(tuple(header), tuple(map(tuple, rows)), tuple(notes)).text()


def program() -> str:
    """Return how to call fdch again: by its path where no folder of PATH has it."""
    own = sys.argv[0]
    is_known = Path(own).name != "fdch" or shutil.which("fdch") is not None
    return "fdch" if is_known else shlex.quote(own)


def show_some(
    items: Sequence[Each], show: Callable[[Each], str], more: str = "more"
) -> list[str]:
    """Show the first few of perhaps many, then how many others there are."""
    left = len(items) - NAMED
    others = [f"and {left:,} {more}"] if left > 0 else []
    return [*map(show, items[:NAMED]), *others]


def note_data(pairs: "PairedSet") -> None:
    """Print the notes of the reader, and the rows that it skipped."""
    for text in pairs.notes:
        note(f"note: {text}")
    note_skipped(pairs.skipped)


def note_skipped(skipped: "Sequence[Skipped]") -> None:
    """Print the rows left out, the first few by name."""
    if skipped:
        note(f"skipped {count(len(skipped), 'broken row')}:")
        for line in show_some(skipped, lambda row: show_reason(row.name, row.reason)):
            note(f"  {line}")


def show_reason(row: str, reason: str) -> str:
    """Write why a row was left out.

    >>> show_reason("a1", "its text has no known word")
    'a1: its text has no known word'
    >>> show_reason("a1", "'pairs.csv', line 7 ('a1'): the id is empty.")
    "'pairs.csv', line 7 ('a1'): the id is empty."
    """
    place, _, _ = reason.partition(": ")
    shown = plain(reason, 300)
    is_named = place.endswith(row) or f"'{row}'" in place
    return shown if is_named else f"{plain(row, 60)}: {shown}"


def note_parts(pairs: "PairedSet", split: "Split") -> None:
    """Print how many pairs are for what."""
    note_data(pairs)
    sizes = (
        f"{len(split.train):,} for training",
        *([f"{len(split.unlabelled):,} without labels"] if split.unlabelled else []),
        f"{len(split.validation):,} for validation",
        count(len(split.query), "query", "queries"),
        f"{len(pairs) - len(split.query):,} in the database",
    )
    note(f"{pairs.name}: {count(len(pairs), 'pair')}; {', '.join(sizes)}")
    if split.groups:
        same = {"both": "pictures or texts"}.get(split.groups, split.groups)
        note(f"note: pairs with the same {same} are kept in one part")


def require_place(path: Path, *endings: str, inputs: Iterable[object] = ()) -> Path:
    """Refuse, before any work, a file that cannot be written or is to be kept.

    Its name may end in one of the endings, or in anything without any. Inputs are what
    the command reads, as named on the command line. Returns the file itself, or what it
    leads to where it is a link.
    """
    # os.path does not raise for folders that may not be read, as Path does
    file = Path(os.path.realpath(path)) if os.path.islink(path) else path
    folder = file.parent
    problem = None
    if os.path.isdir(file):
        problem = f"'{path}' is a folder; name a file to write."
    elif endings and not path.name.lower().endswith(endings):
        problem = (
            f"'{path}' does not end in {endings[0]}; name a file such as "
            f"'{path.with_suffix(endings[0])}'."
        )
    elif os.path.lexists(file) and not os.path.isfile(file):
        problem = f"'{path}' is not a regular file, so it is not overwritten."
    elif any(_is_same(file, str(name)) for name in inputs):
        problem = f"'{path}' is read by this command; name another file to write."
    elif os.path.isfile(folder):
        problem = f"'{folder}' is a file, so nothing can be written into it."
    elif not os.path.isdir(folder):
        problem = f"there is no folder '{folder}' to write into; create it first."
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = (
            f"'{file}' cannot be written: the folder '{folder}' may not be written to. "
            "Choose another place."
        )
    if problem is not None:
        raise RunError(problem)
    return file


def _is_same(file: Path, name: str) -> bool:
    """Compare a file with data, which may be named as reader:FILE."""
    return any(
        os.path.exists(file) and os.path.exists(each) and os.path.samefile(file, each)
        for each in (name, name.partition(":")[2])
    )
