"""The same commands on every kind of store."""

import json

import pytest
from click.testing import CliRunner

from fdch.cli import cli


@pytest.fixture
def run():
    """Run a command and give the document it writes."""

    def run(*words):
        command = [*map(str, words), "--json"]
        result = CliRunner().invoke(cli, command, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return run


def test_an_index_is_made_changed_and_searched_by_commands(run, place, scenes):
    made = run("index", "create", place, "--run", scenes.run.folder)
    assert (made["items"], made["model"]) == (0, scenes.run.fingerprint)
    added = run("index", "add", place, scenes.manifest)
    assert added["added"]["new"] == added["items"] == len(scenes.pairs)
    found = run("search", place, "--text", "beach", "--where", "scene=beach", "-k", 4)
    assert [each["columns"]["scene"] for each in found["results"]] == ["beach"] * 4
    name = found["results"][0]["id"]
    assert run("index", "remove", place, name)["items"] == len(scenes.pairs) - 1
    again = run("search", place, "--text", "beach", "--radius", 24)
    assert len(again["results"]) == len(scenes.pairs) - 1
    assert name not in [each["id"] for each in again["results"]]
    alike = run("search", place, "--id", again["results"][0]["id"], "-k", 3)
    assert len(alike["results"]) == 3
    picture = scenes.pairs.images.paths[0]
    ranked = run("search", place, "--image", picture, "--rerank", "-k", 3)
    assert len(ranked["results"]) == 3
    info = run("index", "info", place)
    assert (info["items"], info["bits"]) == (len(scenes.pairs) - 1, 24)
