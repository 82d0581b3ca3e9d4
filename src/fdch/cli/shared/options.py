"""Arguments and options that several commands share, and the values they take."""

import errno
import functools
import inspect
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.errors import SettingError, suggestion

if TYPE_CHECKING:
    from fdch.data.pairs import Broken as Broken
    from fdch.data.readers.columns import Layout as Layout
    from fdch.data.split_drawing import SplitSizes as SplitSizes
    from fdch.index.store import ColumnType as ColumnType
    from fdch.index.store import Condition
    from fdch.runs.engines import EngineName as EngineName

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class PathName(click.Path):
    """A valid file name; commands check themselves whether it exists."""

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


class NameList(click.ParamType[Any]):
    """Names with commas in between, each once, of those that are known if given."""

    name = "A,B"

    def __init__(self, known: Sequence[str] = ()) -> None:
        self.known = known

    def convert(self, value: Any, *about: Any) -> Any:
        """Split at commas; refuse nothing at all, and unknown names."""
        if not isinstance(value, str):
            return value
        found = [part.strip() for part in value.split(",") if part.strip()]
        if not found:
            self.fail(f"'{value}' names nothing; write values such as a,b.", *about)
        for name in found if self.known else ():
            if name not in self.known:
                all_known = f"; there are: {', '.join(self.known)}."
                hint = suggestion(name, self.known) or all_known
                self.fail(f"'{name}' is unknown{hint}", *about)
        return list(dict.fromkeys(found))


class NumberList(NameList):
    """Numbers of 1 or more with commas in between, each once."""

    name = "N,N"

    def convert(self, value: Any, *about: Any) -> Any:
        """Split at commas; refuse what is no such number."""
        found = super().convert(value, *about)
        return [COUNT.convert(part, *about) for part in found]


DATA = PathName(str)  # data or an index, which need not be a file
PATH = PathName()
COUNT, WHOLE, PORT = WholeRange(1), WholeRange(0), WholeRange(0, 65535)
POSITIVE, PROBABILITY = FiniteRange(0, min_open=True), FiniteRange(0, 1)
NAMES, NUMBERS = NameList(), NumberList()


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


def show_example(words: str) -> str:
    """Lay out the example that ends a command's help."""
    return f"\b\nExample:\n  {words}"


def command(name: str, words: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, with an example that ends its help."""
    return click.command(name, epilog=show_example(words))


def combine(*decorators: Decorator) -> Decorator:
    """Make one decorator of several, the first one's option the first in the help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(decorators):
            command = each(command)
        return command

    return add


def option(
    spec: str, help: str, type: Any = None, name: str | None = None, **more: Any
) -> Decorator:
    """Declare an option: the one way that all commands have.

    Args:
        spec: The flag, then what stands for its value: "--radius R". Dots after that,
            as in "--like ID...", let it be given several times.
        help: What it does.
        type: One of the types above, bool for a flag, a sequence for a choice, or a
            function that reads the text; otherwise that of the default.
        name: Of the function's argument, if not the flag's.
        more: What click.option takes besides, such as a default.
    """
    flag, _, metavar = spec.partition(" ")
    if metavar.endswith("..."):
        more["multiple"] = True
        metavar, help = metavar.removesuffix("..."), f"{help} Repeatable."
    if type is bool:
        type, more["is_flag"] = None, True
    elif isinstance(type, list | tuple):
        type = click.Choice(type)
    names = [flag] if name is None else [flag, name]
    return click.option(*names, help=help, type=type, metavar=metavar or None, **more)


def repeats(default: int, help: str = "Turns of each side.") -> Decorator:
    """Take how often each side of a benchmark is measured."""
    return option("--repeats", help, COUNT, default=default)


def seed(help: str = "Of what is drawn at random.") -> Decorator:
    """Take the seed of random draws."""
    return option("--seed", help, WHOLE, default=0)


def broken(default: str | None, help: str) -> Decorator:
    """Describe what to do about broken rows and pictures."""
    return option("--broken", help, ["refuse", "skip"], default=default)


def parse_columns(text: str) -> dict[str, str]:
    """Read what a table's own columns are to be read as.

    >>> parse_columns("text=title,labels=category")
    {'text': 'title', 'labels': 'category'}
    """
    found: dict[str, str] = {}
    for part in NAMES.convert(text):
        known, equals, own = (each.strip() for each in part.partition("="))
        if not equals or not known or not own or known in found:
            raise click.BadParameter(
                f"'{part}' is not understood; give each of id, image, text and labels "
                "once, such as text=title,labels=category."
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
    columns: dict[str, str] | None, pictures: Path | None, limit: int | None
) -> "Layout":
    from fdch.data.readers.columns import Layout

    return Layout(columns or {}, pictures, limit)


def _build_sizes(
    query_pairs: int | None,
    train_pairs: int | None,
    validation_pairs: int | None,
    labelled_pairs: int | None,
    unlabelled_pairs: int,
) -> "SplitSizes | None":
    from fdch.data.split_drawing import SplitSizes

    rest = validation_pairs, labelled_pairs, unlabelled_pairs
    if query_pairs is not None and train_pairs is not None:
        return SplitSizes(query_pairs, train_pairs, *rest)
    if (query_pairs, train_pairs, *rest) == (None, None, None, None, 0):
        return None
    raise click.UsageError("give --query-pairs and --train-pairs together.")


layout = gather(
    "layout",
    _build_layout,
    option(
        "--columns text=title",
        "Your names for the columns id, image, text and labels of a manifest.",
        parse_columns,
    ),
    option(
        "--pictures DIR",
        "Find pictures that moved in this folder, by the ends of their paths.",
        PATH,
    ),
    option(
        "--limit N",
        "Read only N pairs of DATA, drawn at random; the same ones each time.",
        COUNT,
    ),
)
refuse_broken = broken(
    "refuse", "Refuse broken rows and pictures, or skip and count them."
)
remember_broken = broken(
    None, "Refuse or skip broken rows; as in training if not given."
)
bits = option("--bits", "Length of the codes.", COUNT, default=64)
index: Decorator = click.argument("index", type=DATA)
run: Decorator = click.argument("run", type=PATH)
data: Decorator = click.argument("data", type=DATA)
json = option(
    "--json", "Write one JSON document and nothing else.", bool, name="as_json"
)
device = option(
    "--device", "Where networks run: auto, cpu, cuda or cuda:1.", default="auto"
)
engine = option(
    "--engine",
    "What encodes: this process, or the workers of a Ray cluster.",
    ["local", "ray"],
    default="local",
)
types = option(
    "--type COLUMN=TYPE...",
    "How a column is compared: number, date, boolean or text. Found by itself where "
    "not given.",
    parse_type,
    name="types",
)
encoder = option(
    "--encoder NAME",
    "What encodes queries: torch, onnx (ONNX Runtime), or a folder that 'fdch "
    "export' wrote.",
    default="torch",
)
settings = option(
    "--set KEY=VALUE...",
    "Change a setting, or take a preset: preset=paper.",
    name="assignments",
)
sizes = gather(
    "sizes",
    _build_sizes,
    option("--query-pairs", "Queries to draw, with --train-pairs.", int),
    option("--train-pairs", "Training pairs, validation included.", int),
    option(
        "--validation-pairs",
        "How many of these are held out; a tenth if not given.",
        int,
    ),
    option(
        "--labelled-pairs",
        "How many of the other training pairs keep their labels; all if not given.",
        int,
    ),
    option(
        "--unlabelled-pairs",
        "Further database pairs to learn from without labels, for methods that can.",
        int,
        default=0,
    ),
)
