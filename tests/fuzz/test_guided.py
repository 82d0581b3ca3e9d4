"""Every reader of outside bytes, attacked with some cases as coverage guides it."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.fuzz.corpus import read_corpus
from tests.fuzz.readers import READERS

CASES = 1000  # the same in each run; `python -m tests.fuzz.run` draws others
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_guided_changes_are_read_or_refused(name, tmp_path):
    if find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    if not READERS[name].is_there:
        pytest.skip(f"{READERS[name].package} is not installed")
    command = [sys.executable, "-m", "tests.fuzz.run", name, "--found", str(tmp_path)]
    done = subprocess.run(
        [*command, "--cases", str(CASES)],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Done " in done.stderr
    start = len(READERS[name].samples()) + len(read_corpus(name))
    assert f"seed corpus: files: {start} " in done.stderr
    assert not list(tmp_path.glob(f"{name}-*"))
