"""The method in CONTRIBUTING.md is one source file and one test, and no more.

It is put into a copy of the package, as a user would put it into the repository.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.page_blocks import read_blocks

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
FILE = re.compile(
    r"^`([\w/]+\.py)`:\n\n<!-- [^\n]+ -->\n```python\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SOURCE, TEST = "src/fdch/methods/pls.py", "tests/equations/test_pls.py"


@pytest.fixture(scope="module")
def example():
    """The files in CONTRIBUTING.md by their paths."""
    return dict(FILE.findall(PAGE))


@pytest.fixture(scope="module")
def copy(example, tmp_path_factory):
    """A copy of the repository to which only the example's files were added."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("src/fdch", "scripts", "tests"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=left_out)
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    (folder / "docs").mkdir()
    for name, text in example.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def run(folder, *words, program=sys.executable):
    """Run Python, or another program, in the copy and on the copy's package."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # a session of its own is no worker of this one
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [program, *words],
        cwd=folder,
        env={**kept, "PATH": path, "PYTHONPATH": str(folder / "src")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_one_source_file_and_one_test_that_are_not_here_already(example):
    assert list(example) == [SOURCE, TEST]
    assert not (REPOSITORY / SOURCE).exists()
    lines = [line for line in example[SOURCE].splitlines() if line.strip()]
    assert len(lines) < 50


def test_every_rule_of_the_contract_is_stated():
    contract = (REPOSITORY / "tests/methods/test_contract.py").read_text("utf-8")
    rules = re.findall(r"^def test_(\w+)", contract, re.MULTILINE)
    section = PAGE.split("### What every method promises")[1].split("\n## ")[0]
    stated = re.findall(r"^- ([^:.\n]+)", section, re.MULTILINE)
    assert [words.lower().replace(" ", "_") for words in stated] == rules


@pytest.mark.integration
def test_its_commands_work_and_the_docs_show_it(copy):
    [code] = [block.code for block in read_blocks(PAGE) if "--method pls" in block.code]
    run(copy, "-euc", code.replace(" && ", "\n"), program="bash")
    page = (copy / "docs" / "methods.md").read_text("utf-8")
    assert "| `pls` | A Survey of Partial Least Squares Methods, Wegelin" in page
    listed = json.loads(run(copy, "-m", "fdch", "methods", "--json"))["methods"]
    assert "pls" in [method["name"] for method in listed]


@pytest.mark.integration
def test_every_contract_test_runs_on_it_and_passes(copy):
    contract = "tests/methods/test_contract.py"
    quiet = ("-p", "no:cacheprovider", "-q", "-m", "not device")  # slow ones too
    output = run(copy, "-m", "pytest", *quiet, "--collect-only", contract)
    tests, others = (
        len(re.findall(rf"\[(?:.*-)?{name}(?:-.*)?\]$", output, re.MULTILINE))
        for name in ("pls", "imh")
    )
    assert tests == others > 20
    output = run(copy, "-m", "pytest", *quiet, contract, TEST, "-k", "pls")
    *_, ended = output.strip().splitlines()
    counts = {how: int(n) for n, how in re.findall(r"(\d+) (passed|skipped)", ended)}
    assert sum(counts.values()) == tests + 1
    assert counts.get("skipped", 0) <= 2  # for methods of other kinds
    assert "failed" not in ended


def test_it_is_written_as_everything_here_is(copy):
    for check in (("format", "--check"), ("check", "--no-cache")):
        run(copy, "-m", "ruff", *check, SOURCE, TEST)
