"""`fdch methods`: what can be trained, read off the methods themselves."""

import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.options import example, json_option
from fdch.cli.shared.output import say, say_json

if TYPE_CHECKING:
    from fdch.methods._base import HashMethod

ENTRY = re.compile(r"^    (\w+): (.*)$")


@click.command("methods", epilog=example("fdch methods fdch"))
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or the settings of one."""
    from fdch import methods

    chosen = [name] if name else methods.names()
    found = {each: describe(methods.load(each)) for each in chosen}
    if as_json:
        listed = [{"name": each, **about} for each, about in found.items()]
        say_json(listed[0] if name else {"methods": listed})
    elif name:
        say_settings(name, found[name])
    else:
        say_methods(found)


def describe(method: "type[HashMethod]") -> dict[str, Any]:
    """Give what there is to know of a method."""
    from fdch.methods._settings import AUTO, search_space

    descriptions = setting_descriptions(method)
    about = method.about
    settings = [field for field in fields(method) if field.init]
    names = {field.name for field in settings}
    return {
        "paper": about.paper,
        "supervision": about.supervision,
        "unified": about.unified,
        "image_input": about.image_input,
        "settings": [
            {
                "name": field.name,
                "default": AUTO if field.default is None else field.default,
                "description": descriptions.get(field.name, ""),
            }
            for field in settings
        ],
        # a variant takes over a preset, but not what it holds at another value
        "presets": {
            preset: {name: value for name, value in values.items() if name in names}
            for preset, values in method.presets.items()
        },
        "search": {name: str(each) for name, each in search_space(method).items()},
    }


def setting_descriptions(method: type) -> dict[str, str]:
    """Read "name: what it is" from the docstrings of a class and its bases."""
    descriptions: dict[str, str] = {}
    for base in reversed(method.__mro__):
        text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, arguments = text.partition("\nArgs:\n")
        name = ""
        for line in arguments.splitlines():
            if line and not line.startswith(" "):
                break
            if entry := ENTRY.match(line):
                name = entry[1]
                descriptions[name] = entry[2]
            elif name and line.startswith("        "):
                descriptions[name] += " " + line.strip()
            else:
                name = ""
    return descriptions


def say_methods(found: dict[str, dict[str, Any]]) -> None:
    """Print a row for each method."""
    from fdch.evaluation.tables import Table

    rows = tuple(
        (
            name,
            about["supervision"],
            "yes" if about["unified"] else "no",
            about["image_input"],
            about["paper"],
        )
        for name, about in found.items()
    )
    header = ("method", "learns from", "unified codes", "image side", "paper")
    say(Table(header, rows, ("Settings of one: fdch methods NAME",)))


def say_settings(name: str, about: dict[str, Any]) -> None:
    """Print a method's settings, to be changed with --set."""
    from fdch.evaluation.tables import Table

    say(f"{name}: {about['paper']}")
    say(f"learns from {about['supervision']}; image side: {about['image_input']}")
    say()
    rows = tuple(
        (each["name"], _shown(each["default"]), each["description"])
        for each in about["settings"]
    )
    say(Table(("setting", "default", "meaning"), rows))
    for preset, values in about["presets"].items():
        given = ", ".join(f"{key}={_shown(value)}" for key, value in values.items())
        say(f"\npreset={preset}: {given}")
    if about["search"]:
        searched = (f"{key} {each}" for key, each in about["search"].items())
        say(f"\nfdch tune searches: {', '.join(searched)}")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value) or "(none)"
