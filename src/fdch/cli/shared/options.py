"""Arguments and options that several commands share."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class PathName(click.Path):
    """A path; whether it leads somewhere is for the command to say.

    Args:
        is_folder: A file is refused.
    """

    def __init__(self, is_folder: bool = False) -> None:
        super().__init__(path_type=Path, file_okay=not is_folder)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse a name that no file can have."""
        _refuse_unfit(value, param, ctx)
        return super().convert(value, param, ctx)


class DataName(click.types.StringParamType):
    """Data as named on a command line."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse a name that no file can have."""
        _refuse_unfit(value, param, ctx)
        return super().convert(value, param, ctx)


class IndexName(DataName):
    """A folder, or milvus://host:port/collection."""

    name = "index"


def _refuse_unfit(
    value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    if not str(value).strip():
        message = "the name is empty; was a variable of the shell not set?"
        raise click.BadParameter(message, ctx=ctx, param=param)
    try:
        os.lstat(value)
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            message = f"'{str(value)[:40]}...' is too long for a name."
            raise click.BadParameter(message, ctx=ctx, param=param) from None


index_argument: Decorator = click.argument("index", type=IndexName())
json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Write one JSON document and nothing else."
)
device_option: Decorator = click.option(
    "--device",
    default="auto",
    show_default=True,
    help="Where networks run: auto, cpu, cuda or cuda:1.",
)


encoder_option: Decorator = click.option(
    "--encoder",
    default="torch",
    show_default=True,
    metavar="NAME",
    help="What encodes queries: torch, onnx (ONNX Runtime), or a folder that 'fdch "
    "export' wrote.",
)


def index_folder(name: str) -> Path:
    """Refuse a server where only a folder can be looked after."""
    from fdch.index.opening import require_folder

    return require_folder(name)


def broken_option(default: str | None, help: str) -> Decorator:
    """Say what to do about broken rows and pictures."""
    choices = click.Choice(["refuse", "skip"])
    shown = default is not None
    return click.option(
        "--broken", type=choices, default=default, show_default=shown, help=help
    )


refuse_broken: Decorator = broken_option(
    "refuse", "Refuse broken rows and pictures, or skip and count them."
)


def file_option(*names: str, help: str, **more: Any) -> Decorator:
    """Name a file to write; commands check the place themselves."""
    return click.option(*names, type=PathName(), help=help, **more)


def example(command: str) -> str:
    """Lay out the example that ends a command's help."""
    return f"\b\nExample:\n  {command}"
