"""Groups of commands that load a command's file only when it is asked for."""

import difflib
import importlib
from collections.abc import Mapping
from typing import IO, Any

import click

from fdch.cli.output import plain
from fdch.errors import FdchError, MissingExtra

OF_TRAINING = ("torch", "sklearn")


class Failure(click.ClickException):
    """One of our own errors on its way to the user."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message alone: no trace, no usage."""
        click.echo(f"error: {plain(self.message, lines=True)}", file=file, err=True)


class Interrupted(click.ClickException):
    """Ctrl-C; the message says what remains usable."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Print one line."""
        click.echo(f"interrupted; {self.message}", file=file, err=True)


class LazyGroup(click.Group):
    """A group whose commands are files, each with an object named `command`.

    Args:
        modules: What stands before a command's name in its module's.
        summaries: First line of each command's help, by name.
    """

    def __init__(
        self, *args: Any, modules: str, summaries: Mapping[str, str], **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.modules, self.summaries = modules, summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order in which they are used."""
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in self.summaries:
            return None
        command: click.Command = importlib.import_module(
            self.modules + cmd_name
        ).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one, name the nearest."""
        if args[0] not in self.summaries and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.summaries, n=1)
            hint = f"did you mean '{near[0]}'?" if near else "see --help for all."
            ctx.fail(f"there is no command '{args[0]}'; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List names and summaries without loading any command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


class RootGroup(LazyGroup):
    """The outermost group: turns what a user can act on into plain messages."""

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
        except KeyboardInterrupt:
            raise Interrupted("nothing was changed.") from None
