"""The example in each command's help works, in the order a newcomer has."""

import re
import shutil

import click
import pytest

from fdch.cli import cli
from fdch.cli.shared.groups import LazyGroup

ORDER = (
    ("methods",),
    ("data", "inspect"),
    ("tune",),
    ("train",),
    ("evaluate",),
    ("compare",),
    ("encode",),
    ("export",),
    ("index", "create"),
    ("index", "add"),
    ("index", "remove"),
    ("index", "info"),
    ("index", "remap"),
    ("index", "verify"),
    ("index", "compact"),
    ("index", "repair"),
    ("index", "duplicates"),
    ("index", "backup"),
    ("index", "export"),
    ("index", "rebuild"),
    ("search",),
    ("reproduce",),
    ("bench", "evaluate"),
    ("bench", "defaults"),
    ("bench", "train"),
    ("bench", "pictures"),
    ("bench", "scale"),
    ("bench", "rerank"),
    ("bench", "words"),
    ("bench", "index"),
    ("bench", "facets"),
    ("bench", "search"),
    ("bench", "startup"),
    ("bench", "encode"),
    ("doctor",),
    ("cache", "clear"),
)
SLOW = (
    ("train",),
    ("demo",),
    ("bench", "networks"),
    ("bench", "serve"),
    ("bench", "hostile"),
    ("bench", "soak"),
)
ENDLESS = (("serve",),)  # tests/service runs it
QUICKER = {
    "train": "--set stage_one_epochs=1 --set stage_two_epochs=1",
    "tune": "--minutes 0.05",
}


def commands(group=cli, above=()):
    """Give the words that call each command."""
    for name in group.names:
        command = group.get_command(click.Context(group), name)
        if isinstance(command, LazyGroup):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name)


def example_of(fdch, words):
    shown = fdch(*words, "--help").stdout
    found = re.search(r"Example:\n    fdch (.*)", shown)
    assert found is not None
    return found[1].split()


@pytest.mark.integration
def test_examples_work_one_after_the_other(fdch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path / "cache"))  # the last one clears it
    for words in ORDER:
        if words == ("compare",):
            shutil.copytree("runs/first", "runs/second")
        command = example_of(fdch, words)
        more = QUICKER.get(words[0], "").split()
        result = fdch(*command, *more)
        assert result.exit_code == 0, (command, result.stderr)


def test_no_example_is_forgotten():
    assert {*ORDER, *SLOW, *ENDLESS} == set(commands())


@pytest.mark.parametrize("words", [(), ("data",), ("index",), ("bench",), ("cache",)])
def test_a_groups_example_is_that_of_one_of_its_commands(fdch, words):
    inner = [each for each in commands() if each[: len(words)] == words]
    assert example_of(fdch, words) in [example_of(fdch, each) for each in inner]


@pytest.mark.slow
@pytest.mark.parametrize("words", SLOW)
def test_longer_examples_work_as_they_stand(fdch, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    result = fdch(*example_of(fdch, words))
    assert result.exit_code == 0, result.stderr
