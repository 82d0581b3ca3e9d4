"""Command lines and paths of tests in the docs are those of the program."""

import re
import shlex

import click
import pytest
from tests.page_blocks import PAGES, ROOT, read_blocks

from fdch.cli import cli

VALUES = (click.Choice, click.IntRange, click.FloatRange)


def command_lines(text):
    """Every `fdch` command in the blocks of a page, as words."""
    for block in read_blocks(text):
        if block.language == "python":
            continue
        for line in block.code.replace("\\\n", " ").splitlines():
            if not re.search(r"^\W*fdch |[|&;(] *fdch ", line):
                continue
            words = shlex.shlex(line.strip().removeprefix("$ "), None, True, "|&;<>()")
            words.whitespace_split = True
            command: list[str] = []
            for word in [*words, ";"]:
                if not set(word) <= set("|&;<>()"):
                    command.append(word)
                else:
                    if command[:1] == ["fdch"]:
                        yield command
                    command = []


def parse(words):
    """Parse a command line as the program does, up to what needs its files."""
    command: click.Command = cli
    context = click.Context(command, info_name="fdch")
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        context = click.Context(command, parent=context, info_name=command.name)
    given, extra, _ = command.make_parser(context).parse_args(list(rest))
    assert not extra, f"unexpected: {extra}"
    for param in command.params:
        value = given.get(param.name)
        assert value is not None or not param.required, f"missing: {param.name}"
        if isinstance(param.type, VALUES) and isinstance(value, str | tuple | list):
            param.type_cast_value(context, value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_parse(page):
    wrong = []
    for words in command_lines(page.read_text("utf-8")):
        try:
            parse(words)
        except (click.ClickException, AssertionError) as problem:
            wrong.append(f"{shlex.join(words)}: {problem}")
    assert not wrong


def test_command_lines_are_found_in_blocks():
    text = "a\n```sh\nfdch info x && fdch y | cat\nfdch a \\\n  --b\n```\nb\n"
    assert list(command_lines(text)) == [
        ["fdch", "info", "x"],
        ["fdch", "y"],
        ["fdch", "a", "--b"],
    ]


@pytest.mark.parametrize("words", ["trian x", "train scenes:9 --bist 8", "encode"])
def test_wrong_command_lines_do_not_parse(words):
    with pytest.raises((click.ClickException, AssertionError)):
        parse(["fdch", *words.split()])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page):
    named = re.findall(r"\btests/[\w/]+\.py(?:::\w+)?", page.read_text("utf-8"))
    gone = []
    for name in {*named} - {"tests/equations/test_pls.py"}:
        path, _, test = name.partition("::")
        file = ROOT / path
        if not file.exists() or (test and f"def {test}(" not in file.read_text()):
            gone.append(name)
    assert not gone
