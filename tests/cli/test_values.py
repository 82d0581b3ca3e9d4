"""Numbers that are too small are refused by name, before any work."""

import re

import click
import pytest

from fdch.cli import cli
from fdch.cli.serve import check_addresses


def counts():
    """Every option of every benchmark that takes a count, with its least value."""
    bench = cli.get_command(click.Context(cli), "bench")
    assert isinstance(bench, click.Group)
    context = click.Context(bench)
    for name in bench.list_commands(context):
        command = bench.get_command(context, name)
        assert command is not None
        for option in command.params:
            if isinstance(option.type, click.IntRange):
                yield name, option.opts[0], option.type.min


@pytest.mark.parametrize(("name", "option", "least"), list(counts()))
def test_a_benchmark_refuses_too_small_a_number(fdch, name, option, least):
    run = ["run"] if name in ("encode", "rerank") else []
    result = fdch("bench", name, *run, option, least - 1)
    assert result.exit_code == 2
    message = f"'{option}': {least - 1} is not in the range x>={least}."
    assert message in result.stderr


@pytest.mark.parametrize("name", ["evaluate", "index", "rerank", "search", "serve"])
def test_all_sizes_of_a_benchmark_are_counts(name):
    bench = cli.get_command(click.Context(cli), "bench")
    assert isinstance(bench, click.Group)
    command = bench.get_command(click.Context(bench), name)
    assert command is not None
    plain = [option.opts for option in command.params if option.type is click.INT]
    assert plain == []


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_time_begins_and_ends(fdch, seconds):
    result = fdch("bench", "serve", "--seconds", seconds)
    assert result.exit_code == 2
    assert re.search("range x>0|not a finite number", result.stderr)


@pytest.mark.parametrize("command", ["train", "demo"])
def test_a_seed_is_no_negative_number(fdch, command, tmp_path):
    data = ["scenes:60"] if command == "train" else []
    result = fdch(command, *data, "--out", tmp_path / "out", "--seed", -1)
    assert result.exit_code == 2
    assert "-1 is not in the range x>=0" in result.stderr


def test_a_demo_refuses_a_port_that_is_none(fdch, tmp_path):
    result = fdch("demo", "--out", tmp_path / "out", "--serve", "--port", 99999)
    assert result.exit_code == 2
    assert "99999 is not in the range" in result.stderr


@pytest.mark.parametrize("address", ["proxy.example", "127.0.0.1,here", "10.0.0.1/8"])
def test_a_proxy_is_named_by_its_address(fdch, address):
    result = fdch("serve", "index", "--proxy", address)
    assert result.exit_code == 2
    assert "is no IP address; give one such as 127.0.0.1" in result.stderr


def test_addresses_and_networks_are_taken():
    for given in ("127.0.0.1", "::1", "10.0.0.0/8, 192.168.1.2"):
        assert check_addresses(given) == given


def test_pictures_are_not_kept_in_a_file(fdch):
    result = fdch("serve", "index", "--pictures", __file__)
    assert result.exit_code == 2
    assert "is a file" in result.stderr


def test_what_is_no_number_is_refused_in_plain_words(fdch):
    result = fdch("search", "index", "--text", "beach", "-k", "ten")
    assert result.exit_code == 2
    assert "'ten' is not a valid whole number" in result.stderr
