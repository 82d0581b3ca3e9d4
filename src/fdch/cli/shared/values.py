"""Kinds of values that options take; what cannot be meant is refused by name."""

import ipaddress
import math
from typing import Any

import click

from fdch.cli.shared.options import Decorator


class Count(click.types.IntParamType):
    """A whole number, from some number on."""

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse what is too small."""
        number = super().convert(value, param, ctx)
        if number < self.least:
            self.fail(f"{number} is too small; give {self.least} or more.", param, ctx)
        return number


class Seconds(click.types.FloatParamType):
    """A time that begins and ends."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse no time at all, and one without an end."""
        number = super().convert(value, param, ctx)
        if not 0 < number < math.inf:
            self.fail(f"{number:g} is no time; give seconds above 0.", param, ctx)
        return number


class Minutes(click.types.FloatParamType):
    """A time in minutes that begins and ends."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse no time at all, and one without an end."""
        number = super().convert(value, param, ctx)
        if not 0 < number < math.inf:
            self.fail(f"{number:g} is no time; give minutes above 0.", param, ctx)
        return number


class Probability(click.types.FloatParamType):
    """A number from 0 to 1."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse what nothing can be as probable as."""
        number = super().convert(value, param, ctx)
        if not 0 <= number <= 1:
            self.fail(
                f"{number:g} is no probability; give one from 0 to 1.", param, ctx
            )
        return number


class Where(click.types.StringParamType):
    """A condition on items."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Read it, and refuse what is none."""
        from fdch.errors import SettingError
        from fdch.index.conditions import parse_condition

        try:
            return parse_condition(str(value))
        except SettingError as problem:
            self.fail(str(problem), param, ctx)


class Addresses(click.types.StringParamType):
    """IP addresses or networks, with commas in between."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Refuse what is no address, for it would be heeded nowhere."""
        for part in str(value).split(","):
            try:
                ipaddress.ip_network(part.strip())
            except ValueError:
                self.fail(
                    f"'{part}' is no IP address; give one such as 127.0.0.1, or a "
                    "network such as 10.0.0.0/8.",
                    param,
                    ctx,
                )
        return value


def count_option(*names: str, default: int | None = None, **more: Any) -> Decorator:
    """Take a whole number of 1 or more."""
    shown = default is not None
    return click.option(
        *names, type=Count(), default=default, show_default=shown, **more
    )


def seed_option(help: str | None = None) -> Decorator:
    """Take the seed of what is drawn at random."""
    return click.option(
        "--seed", type=Count(0), default=0, show_default=True, help=help
    )
