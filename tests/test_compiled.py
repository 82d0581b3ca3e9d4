"""Loops kept on disk are those of the code that is there now."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba", reason="numba is not installed")

INNER = """
from fdch.compiled import compiled
from fdch_sizes import STEP

@compiled
def raised(number):
    return number + {by} + STEP
"""
OUTER = """
from fdch.compiled import compiled
from fdch_inner import raised

@compiled
def twice(number):
    return raised(raised(number))
"""
CALL = """
from fdch_outer import twice
print(twice(0), twice.stats.cache_hits.total())
"""


@pytest.fixture
def folder(tmp_path):
    """Give a folder with three files that make a loop."""
    write(tmp_path, by=1, step=0)
    (tmp_path / "fdch_outer.py").write_text(OUTER)
    return tmp_path


def write(folder, by, step):
    (folder / "fdch_inner.py").write_text(INNER.format(by=by))
    (folder / "fdch_sizes.py").write_text(f"STEP = {step}\n")


def call(folder):
    """Call the loop in a process of its own; give its answer, and what was kept."""
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kept")}
    kept["PYTHONPATH"] = os.pathsep.join([str(folder), kept.get("PYTHONPATH", "")])
    run = [sys.executable, "-B", "-c", CALL]
    done = subprocess.run(run, env=kept, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_a_loop_is_kept(folder):
    assert call(folder) == ["2", "0"]
    assert call(folder) == ["2", "1"]


@pytest.mark.parametrize(
    ("by", "step", "right"),
    [(5, 0, "10"), pytest.param(1, 7, "16", marks=pytest.mark.slow)],
)
def test_a_change_in_another_file_is_noticed(folder, by, step, right):
    call(folder)
    write(folder, by, step)
    assert call(folder)[0] == right
    write(folder, by=1, step=0)
    assert call(folder)[0] == "2"


def test_a_change_in_an_instruction_is_noticed(tmp_path):
    (tmp_path / "fdch_inner.py").write_text("""
from fdch.compiled import compiled
from numba.extending import intrinsic
from llvmlite import ir

def amount():
    return 3

def _raised(typing_context, number):
    def generate(context, builder, signature, arguments):
        return builder.add(arguments[0], ir.Constant(ir.IntType(64), amount()))
    return number(number), generate

raised = intrinsic(_raised)
""")
    (tmp_path / "fdch_outer.py").write_text(OUTER)
    assert call(tmp_path)[0] == "6"
    text = (tmp_path / "fdch_inner.py").read_text()
    (tmp_path / "fdch_inner.py").write_text(text.replace("return 3", "return 4"))
    assert call(tmp_path)[0] == "8"
