"""`fdch methods`: what can be trained, read off the methods themselves."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report

if TYPE_CHECKING:
    from fdch.methods._base import HashMethod


@options.command("methods", "fdch methods fdch")
@click.argument("name", required=False)
@options.json
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or the settings of one."""
    from fdch import methods

    chosen = [name] if name else methods.names()
    found = [{"name": each, **describe(methods.load(each))} for each in chosen]
    if name:
        report(found[0], as_json, *_show_settings(found[0]))
    else:
        report({"methods": found}, as_json, _show_methods(found))


def describe(method: "type[HashMethod]") -> dict[str, Any]:
    """Describe a method and its settings."""
    from fdch.methods._settings.assignments import AUTO, search_space
    from fdch.methods._settings.descriptions import setting_descriptions

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


def _show_methods(found: list[dict[str, Any]]) -> str:
    header = ("method", "learns from", "unified codes", "image side", "paper")
    keys = ("name", "supervision", "unified", "image_input", "paper")
    words = {True: "yes", False: "no"}
    rows = ([words.get(each[key], each[key]) for key in keys] for each in found)
    return lay_out(header, rows, ("Settings of one: fdch methods NAME",))


def _show_settings(about: dict[str, Any]) -> list[str]:
    """Lay out a method's settings, to be changed with --set."""
    rows = (
        (each["name"], _show(each["default"]), each["description"])
        for each in about["settings"]
    )
    lines = [
        f"{about['name']}: {about['paper']}",
        f"learns from {about['supervision']}; image side: {about['image_input']}\n",
        lay_out(("setting", "default", "meaning"), rows),
    ]
    for preset, values in about["presets"].items():
        given = ", ".join(f"{key}={_show(value)}" for key, value in values.items())
        lines.append(f"\npreset={preset}: {given}")
    if about["search"]:
        searched = (f"{key} {each}" for key, each in about["search"].items())
        lines.append(f"\nfdch tune searches: {', '.join(searched)}")
    return lines


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value) or "(none)"
