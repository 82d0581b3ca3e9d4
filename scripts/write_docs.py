"""Write the pages of docs/ that are read off the program itself."""

import sys
from pathlib import Path

import click

from fdch import methods
from fdch.cli import cli
from fdch.cli.methods import describe

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTICE = "<!-- written by scripts/write_docs.py -->\n"


def commands_page() -> str:
    """Give the help of every command."""
    parts = [NOTICE, "# Commands\n"]
    parts += [
        f"## {name}\n\n```\n{text.rstrip()}\n```\n"
        for name, text in _helps(cli, "fdch")
    ]
    return "\n".join(parts)


def methods_page() -> str:
    """Give the table of methods, and the settings of each."""
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


PAGES = {"commands.md": commands_page, "methods.md": methods_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), "utf-8")
        sys.stdout.write(f"docs/{name}\n")
