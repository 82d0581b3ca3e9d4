"""Clocks that jump, disks that are slow, indexes that are opened again and again."""

import os
import site
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder

HOUR, YEAR = 3600, 365 * 24 * 3600
CODES = random_codes(200)


def ids(folder):
    return {item.id for items, _, _ in folder.batches(1000) for item in items}


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGESIZE"
    )


def names(start, end):
    return {f"item {number}" for number in range(start, end)}


@pytest.fixture
def set_clock(monkeypatch, tmp_path):
    """Set the clock so many seconds ahead, for Python and for the files there are."""
    began = time.time_ns()

    def set_to(seconds):
        now = began + seconds * 10**9
        monkeypatch.setattr("time.time_ns", lambda: now)
        monkeypatch.setattr("time.time", lambda: now / 10**9)
        for path in tmp_path.rglob("*"):
            os.utime(path, ns=(now, now))

    return set_to


@pytest.mark.parametrize("jump", [-HOUR, YEAR, 0])
def test_a_clock_that_jumps_or_stands_still_hides_no_write(tmp_path, set_clock, jump):
    path = tmp_path / "index"
    with (
        CodeFolder.create(path, 32, "model") as writer,
        CodeFolder.open(path) as reader,
    ):
        for turn in range(6):
            writer.add(sample_items(20, 20 * turn), CODES[20 * turn : 20 * turn + 20])
            set_clock(jump * (turn % 2))
            writer.remove([f"item {20 * turn}"])
            set_clock(jump)
            if turn == 3:
                writer.compact()
            expected = names(0, 20 * turn + 20) - {f"item {20 * n}" for n in range(6)}
            assert ids(reader) == expected
            [found] = reader.search(CODES[20 * turn + 1 : 20 * turn + 2], 1)
            assert found.distances.tolist() == [0]
    assert verify_folder(path).is_clean
    with CodeFolder.open(path, writable=True) as again:
        assert ids(again) == expected


def test_a_slow_disk_shows_readers_whole_commits(tmp_path, monkeypatch):
    """Every write and flush takes long; readers find one commit or the next."""
    path, seen, problems = tmp_path / "index", [], []
    for name in ("fsync", "fdatasync", "pwrite"):
        plain = getattr(os, name)

        def slow(*args, plain=plain):
            time.sleep(0.005)
            return plain(*args)

        monkeypatch.setattr(os, name, slow)
    done = threading.Event()

    def read():
        try:
            with CodeFolder.open(path) as reader:
                while not done.is_set():
                    seen.append(len(ids(reader)))
        except Exception as problem:
            problems.append(problem)

    with CodeFolder.create(path, 32, "model") as writer:
        thread = threading.Thread(target=read)
        thread.start()
        try:
            with CodeFolder.open(path) as other:
                for turn in range(10):
                    writer.add(sample_items(20, 20 * turn), CODES[20 * turn :][:20])
                    assert ids(other) == names(0, 20 * turn + 20)  # once acknowledged
        finally:
            done.set()
            thread.join()
    assert problems == []
    assert {number % 20 for number in seen} == {0}
    assert seen == sorted(seen)
    assert verify_folder(path).is_clean


def open_and_close(path, turns):
    """Open, search and close an index each turn; return what is held at intervals."""
    held = []
    for turn in range(turns):
        with CodeFolder.open(path, writable=turn % 10 == 0) as folder:
            [found] = folder.search(CODES[turn % 200 : turn % 200 + 1], 1)
            assert found.distances.tolist() == [0]
        if turn % 1000 == 999:
            files = len(os.listdir("/proc/self/fd"))
            held.append((files, threading.active_count(), resident_bytes()))
    return held


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts as Linux does")
def test_10000_times_opened_and_closed_leave_nothing_open(tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(sample_items(200), CODES)
    # in a process of its own: this one may free or take memory for other tests
    spawn, root = get_context("spawn"), str(Path(__file__).parents[3])
    with ProcessPoolExecutor(1, spawn, site.addsitedir, (root,)) as alone:
        held = alone.submit(open_and_close, path, 10_000).result()
    assert len({(files, threads) for files, threads, _ in held}) == 1
    assert held[-1][2] - held[1][2] < 8 * 2**20
    assert verify_folder(path).is_clean
