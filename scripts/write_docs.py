"""Write the pages of docs/ that are read off the program itself."""

import sys
from dataclasses import fields
from pathlib import Path

import click

from fdch import methods
from fdch.cli import cli
from fdch.cli.methods import describe
from fdch.methods._settings.descriptions import setting_descriptions
from fdch.retrieval.params import SearchParams

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTICE = "<!-- written by scripts/write_docs.py -->\n"
VARIABLES = {
    "FDCH_CACHE": "Folder of the cache; `fdch cache clear` empties it.",
    "FDCH_MILVUS_TOKEN": "`user:password` of a Milvus server.",
    "FDCH_MODELS": "Folder that names of model folders are looked up in.",
}


def commands_page() -> str:
    """Return the help of every command."""
    parts = [NOTICE, "# Commands\n"]
    parts += [
        f"## {name}\n\n```text\n{text.rstrip()}\n```\n"
        for name, text in _helps(cli, "fdch")
    ]
    return "\n".join(parts)


def methods_page() -> str:
    """Return the table of methods, and the settings of each."""
    found = {name: describe(methods.load(name)) for name in methods.names()}
    parts = [
        NOTICE,
        "# Methods\n",
        "| name | paper | learns from | unified codes | image input |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, about in found.items():
        unified = "yes" if about["unified"] else "no"
        parts.append(
            f"| `{name}` | {about['paper']} | {about['supervision']} | {unified} "
            f"| {about['image_input']} |"
        )
    for name, about in found.items():
        parts += [f"\n## {name}\n", "| setting | default | |", "| --- | --- | --- |"]
        parts += [
            f"| `{each['name']}` | {_shown(each['default'])} | {each['description']} |"
            for each in about["settings"]
        ]
        for preset, values in about["presets"].items():
            changed = ", ".join(f"`{k}={_plain(v)}`" for k, v in values.items())
            parts.append(f"\n`preset={preset}`: {changed}")
        if about["search"]:
            searched = ", ".join(f"`{k}` {v}" for k, v in about["search"].items())
            parts.append(f"\n`fdch tune` searches: {searched}")
    return "\n".join(parts) + "\n"


def settings_page() -> str:
    """Return every setting once, with the methods that have it."""
    names = list(methods.names())
    known: dict[tuple[str, str, str], list[str]] = {}
    for name in names:
        for each in describe(methods.load(name))["settings"]:
            shown = _shown(each["default"]), each["description"]
            known.setdefault((each["name"], *shown), []).append(name)
    parts = [
        NOTICE,
        "# Settings\n",
        "```sh\nfdch train pairs.csv --out runs/first --set image_hidden=512\n```\n",
        "In Python they are arguments: `FDCH(image_hidden=512)`; None leaves a number "
        "that is `auto` here to the method. `fdch tune` [finds settings](tune.md) for "
        "your data, and [methods](methods.md) lists them by method.\n",
        "## Of methods\n",
        "| setting | default | meaning | methods |",
        "| --- | --- | --- | --- |",
    ]
    for (setting, default, meaning), having in sorted(known.items()):
        which = "all" if having == names else ", ".join(having)
        parts.append(f"| `{setting}` | {default} | {meaning} | {which} |")
    meanings = setting_descriptions(SearchParams)
    parts += ["\n## Of a search\n", "| setting | meaning |", "| --- | --- |"]
    parts += [
        f"| `{each.name}` | {meanings[each.name]} |" for each in fields(SearchParams)
    ]
    parts += ["\n[The service](service.md#limits) lists its limits.\n"]
    parts += ["## Environment variables\n", "| variable | meaning |", "| --- | --- |"]
    parts += [f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items()]
    return "\n".join(parts) + "\n"


def _helps(command: click.Command, path: str) -> list[tuple[str, str]]:
    context = click.Context(
        command, info_name=path, terminal_width=80, show_default=True
    )
    if not isinstance(command, click.Group):
        return [(path, command.get_help(context))]
    inner = [(path, command.get_help(context))] if path == "fdch" else []
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        inner += _helps(found, f"{path} {name}")
    return inner


def _shown(value: object) -> str:
    return f"`{_plain(value)}`" if value not in ("", None) else ""


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


PAGES = {
    "commands.md": commands_page,
    "methods.md": methods_page,
    "settings.md": settings_page,
}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), "utf-8")
        sys.stdout.write(f"docs/{name}\n")
