"""The command line as a whole: help, exit codes, where messages go."""

import errno
import os
import subprocess
import sys

import click
import pytest
import torch

import fdch.cli
from fdch import __version__
from fdch.cli import COMMANDS, cli
from fdch.cli.shared.groups import LazyGroup
from fdch.errors import FdchError

BITS_AND_SEED = ("--set", "seed=1", "--set", "bits=8")
SIZES = ("--query-pairs", "5", "--train-pairs", "9")


def in_process(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def commands(group=cli, above=()):
    """Every command with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*above, name), command
        if isinstance(command, LazyGroup):
            yield from commands(command, (*above, name))


@pytest.fixture
def failing(monkeypatch):
    """Let `fdch methods` raise something."""

    def fail(error):
        def raise_it():
            raise error

        monkeypatch.setattr("fdch.methods.names", raise_it)

    return fail


def test_help_lists_all_commands_and_loads_nothing_heavy():
    code = (
        "import sys; from fdch.cli import cli\n"
        "try: cli.main(['--help'], prog_name='fdch')\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'torch', 'numpy', 'PIL', 'urllib.request'} & set(sys.modules)\n"
        "sys.exit(code or str(heavy) if heavy or code else 0)"
    )
    result = in_process(code)
    assert result.returncode == 0, result.stderr
    for name in COMMANDS:
        assert f"  {name} " in result.stdout
    assert "Score a run: pictures find texts, and texts" in result.stdout


@pytest.mark.parametrize(("words", "command"), list(commands()))
def test_every_command_has_help_with_an_example(fdch, words, command):
    result = fdch(*words, "--help")
    assert result.exit_code == 0
    assert command.help.splitlines()[0] in result.stdout
    assert "Example:\n    fdch " + " ".join(words) in result.stdout


def test_every_command_that_reports_has_json():
    without = {
        words
        for words, command in commands()
        if not isinstance(command, LazyGroup)
        and "--json" not in [o for p in command.params for o in p.opts]
    }
    assert without == {("serve",)}  # it answers until it is stopped


def test_help_of_a_command_does_not_load_torch():
    code = (
        "import sys; from fdch.cli import cli\n"
        "try: cli.main(['train', '--help'], prog_name='fdch')\n"
        "except SystemExit: sys.exit('torch' in sys.modules)"
    )
    assert in_process(code).returncode == 0


def test_version_is_reported(fdch):
    assert fdch("--version").stdout == f"fdch, version {__version__}\n"


def test_package_runs_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "fdch", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"fdch, version {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "there is no command 'trian'; did you mean 'train'?"),
        (["xyzzy"], "there is no command 'xyzzy'; see --help"),
        (["data", "inspct"], "did you mean 'inspect'?"),
        (["train"], "Missing argument 'DATA'"),
        (["train", "scenes:60"], "Missing option '--out'"),
        (["train", "scenes:60", "--out", "x", "--bits", "many"], "'many' is not"),
        (["train", "scenes:60", "--out", "x", "--query-pairs", "5"], "together"),
        (
            ["train", "s", "--out", "x", "--split", "f", *SIZES],
            "leave theirs out",
        ),
        (["train", "", "--out", "x"], "the name is empty"),
        (["train", "scenes:60", "--out", " "], "the name is empty"),
        (["search", "", "--text", "beach"], "the name is empty"),
        (["train", "x" * 5000, "--out", "x"], "is too long for a name"),
        (["train", "scenes:60", "--out", "x" * 5000], "is too long for a name"),
        (["train", "s", "--out", "x", *BITS_AND_SEED], "give --bits and --seed as"),
        (["evaluate", "run", "--gallery", "none"], "'none' is not one of"),
        (["compare"], "Missing argument"),
        (["compare", "a", "--json", "--format", "csv"], "not both"),
    ],
)
def test_wrong_usage_ends_with_2(fdch, words, message):
    result = fdch(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr


def test_our_own_error_is_one_message_and_1(fdch, failing):
    failing(FdchError("the cat sat on the data. Move the cat."))
    result = fdch("methods")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "error: the cat sat on the data. Move the cat.\n"


def test_an_error_cannot_command_the_terminal(fdch, failing):
    failing(FdchError("bad id '\x1b[2J\a'\nsecond line"))
    assert fdch("methods").stderr == "error: bad id '\\x1b[2J\\x07'\nsecond line\n"


def test_any_other_error_is_a_bug_and_keeps_its_trace(fdch, failing):
    failing(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        fdch("methods")


def test_ctrl_c_ends_with_130_and_a_line(fdch, failing):
    failing(KeyboardInterrupt())
    result = fdch("methods")
    assert result.exit_code == 130
    assert result.stderr == "interrupted; nothing was changed.\n"


@pytest.mark.parametrize(
    ("error", "size"),
    [
        (MemoryError(), ""),
        (MemoryError("Unable to allocate 7.28 TiB for an array"), "; 7.28 TiB were"),
        (
            RuntimeError("can't allocate memory: tried to allocate 8 bytes."),
            "; 8 b",
        ),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to"), ""),
    ],
)
def test_too_little_memory_is_reported_with_what_to_lower(fdch, failing, error, size):
    failing(error)
    result = fdch("methods")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: there is not enough memory{size}")
    assert "Lower batch_size" in result.stderr


def test_settings_beyond_all_memory_are_reported(fdch, on_features, tiny, tmp_path):
    words = ("train", on_features.data, *tiny, "--out", tmp_path / "run")
    result = fdch(*words, "--set", "text_hidden=1000000000000000")
    assert result.exit_code == 1
    assert "error: there is not enough memory; " in result.stderr


def test_another_error_while_running_is_a_bug(fdch, failing):
    failing(RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError, match="shapes differ"):
        fdch("methods")


def test_missing_torch_is_reported_with_what_to_install(fdch, failing):
    failing(ModuleNotFoundError("No module named 'torch'", name="torch"))
    result = fdch("methods")
    assert result.exit_code == 1
    assert "pip install 'fdch[train]'" in result.stderr


def test_another_missing_module_is_a_bug(fdch, failing):
    failing(ModuleNotFoundError("No module named 'tools'", name="tools"))
    with pytest.raises(ModuleNotFoundError):
        fdch("methods")


def test_a_reader_that_goes_away_is_no_trouble():
    code = "from fdch.cli import main; main(['train', '--help'])"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has it")
@pytest.mark.parametrize("words", ["compare {run}", "--help", "train --help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_reported_in_a_line(words, unbuffered, on_features):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "fdch", *words.format(run=on_features.run).split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert result.returncode == 1
    reported = "error: the result could not be written: No space left on device.\n"
    assert result.stderr == reported


@pytest.mark.parametrize("code", [errno.EACCES, errno.ENAMETOOLONG])
def test_a_name_that_may_not_be_looked_at_is_reported(fdch, failing, code):
    failing(OSError(code, os.strerror(code), "/root/run/run.json"))
    result = fdch("methods")
    assert (result.exit_code, result.stdout) == (1, "")
    expected = f"error: '/root/run/run.json' cannot be opened: {os.strerror(code)}. "
    assert result.stderr.startswith(expected)


def test_trouble_with_other_files_is_a_bug(fdch, failing):
    failing(OSError(28, "No space left on device"))
    with pytest.raises(OSError, match="No space left"):
        fdch("methods")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_trouble(closed, on_features):
    command = f'"$0" -m fdch compare {on_features.run} {closed}'
    result = subprocess.run(
        ["sh", "-c", command, sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_threads_are_made_to_wait_quietly(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    with pytest.raises(SystemExit):
        fdch.cli.main(["--version"])
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with pytest.raises(SystemExit):
        fdch.cli.main(["--version"])
    assert os.environ["OMP_WAIT_POLICY"] == "active"


def test_output_fits_any_terminal(on_features):
    code = f"from fdch.cli import main; main(['compare', {str(on_features.run)!r}])"
    result = in_process(code, PYTHONIOENCODING="latin-1")
    assert result.returncode == 0, result.stderr
    assert r"image \u2192 text 16" in result.stdout


def test_several_processes_share_no_other_command(fdch, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = fdch("methods")
    assert result.exit_code == 2
    assert "torchrun can start several processes of 'train', not" in result.stderr
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert fdch("methods").exit_code == 0
