"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Write one JSON document and nothing else."
)
device_option: Decorator = click.option(
    "--device",
    default="auto",
    show_default=True,
    help="Where networks run: auto, cpu, cuda or cuda:1.",
)


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
    return click.option(*names, type=click.Path(path_type=Path), help=help, **more)


def example(command: str) -> str:
    """Lay out the example that ends a command's help."""
    return f"\b\nExample:\n  {command}"
