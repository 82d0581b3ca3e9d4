"""Groups of commands that load a command's file only when it is used."""

import errno
import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, NoReturn

import click

from fdch.cli.shared.options import show_example
from fdch.cli.shared.output import plain
from fdch.errors import FdchError, MissingExtra, suggestion

OF_TRAINING = ("torch", "sklearn")
# wherever a name is looked at: in a folder of someone else, or of no file
OF_NAMES = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)
# how torch words it on each kind of device, partly as a bare RuntimeError
SHORTAGE = (
    "not enough memory",
    "can't allocate memory",
    "out of memory",
    "size calculation overflowed",
)


class Failure(click.ClickException):
    """One of our own errors on its way to the user."""

    beginning = "error: "

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message alone: no trace, no usage."""
        shown = self.beginning + plain(self.message, lines=True)
        click.echo(shown, file=file, err=True)


class Interrupted(Failure):
    """Ctrl-C; the message says what remains usable."""

    beginning = "interrupted; "
    exit_code = 130


class LazyGroup(click.Group):
    """A group whose commands are the files of a package, each with a `command`.

    Their names are listed in their usual order.
    """

    def __init__(
        self, *args: Any, module: str, names: Sequence[str], example: str, **more: Any
    ) -> None:
        super().__init__(*args, epilog=show_example(example), **more)
        self.module, self.names = module, names

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names without loading any command."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in self.names:
            return None
        module: Any = importlib.import_module(f"{self.module}.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one, name the nearest."""
        if args[0] not in self.names and not args[0].startswith("-"):
            hint = suggestion(args[0], self.names) or "; see --help for all."
            ctx.fail(f"there is no command '{args[0]}'{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List names with the first lines of their help, whole."""
        commands = [(name, self.get_command(ctx, name)) for name in self.names]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, ((each and each.help) or "").split("\n")[0])
                    for name, each in commands
                ]
            )


class RootGroup(LazyGroup):
    """The outermost group: turns what a user can act on into plain messages."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Run the command line; report in one line when output fails."""
        try:
            return super().main(*args, **more)
        except OSError as problem:
            frames = traceback.walk_tb(problem.__traceback__)
            if all(frame.f_code is not click.echo.__code__ for frame, _ in frames):
                raise  # not of printing: other files have messages of their own
            _end_unheard(problem)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; with several processes, only the one they can share."""
        is_shared = "TORCHELASTIC_RUN_ID" in os.environ  # torchrun sets it
        if is_shared and os.environ.get("WORLD_SIZE") != "1" and args[0] != "train":
            ctx.fail(
                f"torchrun can start several processes of 'train', not of '{args[0]}'."
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; anything but our own errors is a bug and keeps its trace."""
        try:
            return super().invoke(ctx)
        except FdchError as problem:
            raise Failure(str(problem)) from problem
        except ModuleNotFoundError as problem:
            if problem.name not in OF_TRAINING:
                raise
            raise Failure(str(MissingExtra("this command", "train"))) from problem
        except (MemoryError, RuntimeError) as problem:
            is_of_memory = any(text in str(problem) for text in SHORTAGE)
            if not is_of_memory and not isinstance(problem, MemoryError):
                raise
            raise Failure(_describe_shortage(str(problem))) from problem
        except OSError as problem:
            if problem.errno not in OF_NAMES or problem.filename is None:
                raise
            raise Failure(
                f"'{problem.filename}' cannot be opened: {problem.strerror}. Check the "
                "name, and the permissions of the folders in it."
            ) from problem
        except KeyboardInterrupt:
            raise Interrupted("nothing was changed.") from None


def _describe_shortage(message: str) -> str:
    size = re.search(r"allocate ([\d.]+ \w+)", message)
    requested = f"; {size[1]} were requested at once" if size else ""
    return (
        f"there is not enough memory{requested}. Lower batch_size or the widths among "
        "the settings, take fewer pairs or shorter codes, or free memory."
    )


def _end_unheard(problem: OSError) -> NoReturn:
    reason = problem.strerror or problem
    with suppress(OSError):
        click.echo(f"error: the result could not be written: {reason}.", err=True)
    with suppress(OSError, ValueError):
        # what is left in the buffer would fail again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(Failure.exit_code)
