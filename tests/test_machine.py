"""The machine is described as it is; what is unknown is left out."""

import subprocess
import sys

from fdch import machine
from fdch.machine import (
    available_memory,
    forget_peak_memory,
    peak_memory,
    usable_cores,
)

MEGABYTE = 10**6


def test_the_peak_counts_what_was_held_for_a_moment():
    # in a process of its own: others may have memory left over that is used again
    code = (
        "import numpy as np; from fdch.machine import *; forget_peak_memory(); "
        "before = peak_memory(); block = np.ones(10**8, np.uint8); del block; "
        "print(peak_memory() - before)"
    )
    words = [sys.executable, "-c", code]
    found = subprocess.run(words, capture_output=True, check=True, text=True)
    assert int(found.stdout) > 50 * MEGABYTE


def test_a_system_without_proc_has_a_peak_all_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_STATUS", tmp_path / "nothing")
    monkeypatch.setattr(machine, "_FORGET", tmp_path / "no folder" / "nothing")
    forget_peak_memory()
    assert (peak_memory() or 0) > MEGABYTE


def test_a_peak_that_the_system_does_not_report_is_not_guessed(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_STATUS", tmp_path / "nothing")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory() is None


def test_a_container_limits_what_is_available(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  5000 kB\n")
    monkeypatch.setattr(machine, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "_GROUP", tmp_path)
    assert available_memory() == 5000 * 1024
    (tmp_path / "memory.max").write_text("max")
    (tmp_path / "memory.current").write_text("1000")
    assert available_memory() == 5000 * 1024
    (tmp_path / "memory.max").write_text("3000")
    assert available_memory() == 2000


def test_unknown_memory_is_not_guessed(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_MACHINE", tmp_path / "nothing")
    assert available_memory() is None


def test_there_is_a_core_to_use():
    assert usable_cores() >= 1
