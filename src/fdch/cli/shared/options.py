"""Arguments and options that several commands share, and the values they take."""

import errno
import functools
import inspect
import ipaddress
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.errors import SettingError, suggestion

if TYPE_CHECKING:
    from fdch.data.pairs import Broken as Broken
    from fdch.data.readers.columns import Layout as Layout
    from fdch.data.splits import SplitSizes as SplitSizes
    from fdch.index.store import ColumnType as ColumnType
    from fdch.index.store import Condition
    from fdch.runs.engines import EngineName as EngineName

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
MAX_NUMBER = 10**9


class PathName(click.Path):
    """A name that a file can have; commands check themselves what is there."""

    def __init__(self, path_type: type = Path, **more: Any) -> None:
        super().__init__(path_type=path_type, readable=False, **more)

    def convert(self, value: Any, *about: Any) -> Any:
        """Refuse a name that no file can have."""
        if not str(value).strip():
            self.fail("the name is empty; is a variable of the shell not set?", *about)
        try:
            os.lstat(value)
        except OSError as problem:
            if problem.errno == errno.ENAMETOOLONG:
                self.fail(f"'{str(value)[:40]}...' is too long for a name.", *about)
        return super().convert(value, *about)


class WholeRange(click.IntRange):
    """A whole number in a range; click would say "'x' is no valid integer range"."""

    name = "whole number"


class FiniteRange(click.FloatRange):
    """A number in a range; neither infinite nor "nan", which click takes."""

    name = "number"

    def convert(self, value: Any, *about: Any) -> Any:
        """Refuse what is not a finite number in the range."""
        number = super().convert(value, *about)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", *about)
        return number


DATA = PathName(str)  # data or an index, which need not be a file
POSITIVE = FiniteRange(0, min_open=True)
PROBABILITY = FiniteRange(0, 1)


def parse_where(text: str) -> "Condition":
    """Read a condition on items."""
    from fdch.index.conditions import parse_condition

    try:
        return parse_condition(text)
    except SettingError as problem:
        raise click.BadParameter(str(problem)) from problem


def parse_type(text: str) -> "tuple[str, ColumnType]":
    """Read the type of a column.

    >>> parse_type("price=number")
    ('price', 'number')
    """
    from fdch.index.column_types import read_types

    column, _, type = text.rpartition("=")
    try:
        [chosen] = read_types({column.strip(): type.strip()}).items()
    except SettingError as problem:
        raise click.BadParameter(f"{problem} Write 'price=number'.") from problem
    return chosen


def check_addresses(text: str) -> str:
    """Refuse what is no IP address or network."""
    for part in text.split(","):
        try:
            ipaddress.ip_network(part.strip())
        except ValueError as problem:
            raise click.BadParameter(
                f"'{part}' is no IP address; give one such as 127.0.0.1, or a network "
                "such as 10.0.0.0/8."
            ) from problem
    return text


def parse_bytes(text: str) -> int:
    """Read how many bytes are meant.

    >>> parse_bytes("10GB"), parse_bytes("1.5 MiB")
    (10000000000, 1572864)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.I)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"'{text}' is no size; give one such as 10GB.")
    power = "KMGT".find(found[2].upper()) + 1 if found[2] else 0
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def split_names(text: str) -> list[str]:
    """Split at commas, each value once.

    >>> split_names("cmfh, dch,cmfh")
    ['cmfh', 'dch']
    """
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise click.BadParameter(
            f"'{text}' names nothing; write one value or more, with commas in between."
        )
    return list(dict.fromkeys(found))


def split_numbers(text: str) -> list[int]:
    """Split at commas into numbers of 1 or more.

    >>> split_numbers("16,32")
    [16, 32]
    """
    found = split_names(text)
    for part in found:
        is_short = part.isascii() and part.isdigit() and len(part) <= 10
        if not is_short or not 1 <= int(part) <= MAX_NUMBER:
            raise click.BadParameter(
                f"'{part}' is no number of 1 or more; write such as 16,32."
            )
    return [int(part) for part in found]


def example(words: str) -> str:
    """Lay out the example that ends a command's help."""
    return f"\b\nExample:\n  {words}"


def command(name: str, words: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, with an example that ends its help."""
    return click.command(name, epilog=example(words))


def combine(*decorators: Decorator) -> Decorator:
    """Make one decorator of several, the first one's option the first in the help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(decorators):
            command = each(command)
        return command

    return add


def path(*names: str, **more: Any) -> Decorator:
    """Name a file or folder; commands check the place themselves."""
    return click.option(*names, type=PathName(), **more)


def count(*names: str, **more: Any) -> Decorator:
    """Take a whole number of 1 or more."""
    return click.option(*names, type=WholeRange(1), **more)


def numbers(*names: str, **more: Any) -> Decorator:
    """Take several whole numbers of 1 or more."""
    return click.option(*names, type=split_numbers, **({"metavar": "N,N"} | more))


def names(*names: str, known: Sequence[str] = (), **more: Any) -> Decorator:
    """Take several names, of those that are known if there are such."""

    def read(text: str) -> list[str]:
        found = split_names(text)
        for name in found if known else ():
            if name not in known:
                hint = suggestion(name, known) or f"; there are: {', '.join(known)}."
                raise click.BadParameter(f"'{name}' is unknown{hint}")
        return found

    return click.option(*names, type=read, metavar="A,B", **more)


def repeats(default: int, help: str = "Turns of each side.") -> Decorator:
    """Take how often each side of a benchmark is measured."""
    return count("--repeats", default=default, help=help)


def seed(help: str | None = None) -> Decorator:
    """Take the seed of what is drawn at random."""
    return click.option("--seed", type=WholeRange(0), default=0, help=help)


def broken(default: str | None, help: str) -> Decorator:
    """Describe what to do about broken rows and pictures."""
    choices = click.Choice(["refuse", "skip"])
    return click.option("--broken", type=choices, default=default, help=help)


def parse_columns(text: str | None) -> dict[str, str]:
    """Read what a table's own columns are to be read as.

    >>> parse_columns("text=title,labels=category")
    {'text': 'title', 'labels': 'category'}
    """
    found: dict[str, str] = {}
    for part in split_names(text) if text is not None else ():
        known, equals, own = (each.strip() for each in part.partition("="))
        if not equals or not known or not own or known in found:
            raise SettingError(
                f"--columns takes each of id, image, text and labels once, such as "
                f"text=title,labels=category; got '{part}'."
            )
        found[known] = own
    return found


def gather(name: str, build: Callable[..., Any], *decorators: Decorator) -> Decorator:
    """Add options that a command takes as one argument, built of their values."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(**given: Any) -> Any:
            own = {
                part: given.pop(part) for part in inspect.signature(build).parameters
            }
            return command(**given, **{name: build(**own)})

        return combine(*decorators)(run)

    return add


def _build_layout(
    columns: str | None, pictures: Path | None, limit: int | None
) -> "Layout":
    from fdch.data.readers.columns import Layout

    return Layout(parse_columns(columns), pictures, limit)


def _build_sizes(
    query_pairs: int | None,
    train_pairs: int | None,
    validation_pairs: int | None,
    labelled_pairs: int | None,
    unlabelled_pairs: int,
) -> "SplitSizes | None":
    from fdch.data.splits import SplitSizes

    rest = validation_pairs, labelled_pairs, unlabelled_pairs
    if query_pairs is not None and train_pairs is not None:
        return SplitSizes(query_pairs, train_pairs, *rest)
    if (query_pairs, train_pairs, *rest) == (None, None, None, None, 0):
        return None
    raise click.UsageError("give --query-pairs and --train-pairs together.")


layout = gather(
    "layout",
    _build_layout,
    click.option(
        "--columns",
        metavar="text=title,...",
        help="Your names for the columns id, image, text and labels of a manifest.",
    ),
    path(
        "--pictures",
        metavar="DIR",
        help="Find pictures that moved in this folder, by the ends of their paths.",
    ),
    count(
        "--limit",
        metavar="N",
        help="Read only N pairs of DATA, drawn at random; the same ones each time.",
    ),
)
refuse_broken = broken(
    "refuse", "Refuse broken rows and pictures, or skip and count them."
)
remember_broken = broken(
    None, "Refuse or skip broken rows; as in training if not given."
)
bits = count("--bits", default=64, help="Length of the codes.")
index: Decorator = click.argument("index", type=DATA)
run: Decorator = click.argument("run", type=PathName())
data: Decorator = click.argument("data", type=DATA)
json: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Write one JSON document and nothing else."
)
device: Decorator = click.option(
    "--device", default="auto", help="Where networks run: auto, cpu, cuda or cuda:1."
)
engine: Decorator = click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="What encodes: this process, or the workers of a Ray cluster.",
)
types: Decorator = click.option(
    "--type",
    "types",
    type=parse_type,
    multiple=True,
    metavar="COLUMN=TYPE",
    help="How a column is compared: number, date, boolean or text. Found by itself "
    "where not given. Repeatable.",
)
encoder: Decorator = click.option(
    "--encoder",
    default="torch",
    metavar="NAME",
    help="What encodes queries: torch, onnx (ONNX Runtime), or a folder that 'fdch "
    "export' wrote.",
)
sizes = gather(
    "sizes",
    _build_sizes,
    click.option(
        "--query-pairs", type=int, help="Queries to draw, with --train-pairs."
    ),
    click.option(
        "--train-pairs", type=int, help="Training pairs, validation included."
    ),
    click.option(
        "--validation-pairs",
        type=int,
        help="How many of these are held out; a tenth if not given.",
    ),
    click.option(
        "--labelled-pairs",
        type=int,
        help="How many of the other training pairs keep their labels; all if not "
        "given.",
    ),
    click.option(
        "--unlabelled-pairs",
        type=int,
        default=0,
        help="Further database pairs to learn from without labels, for methods that "
        "can.",
    ),
)
