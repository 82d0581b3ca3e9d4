"""The processes that share a training, as torchrun starts them, one for each device.

They all read the data, build the method and fit it, in step. The first alone writes
files and prints. A process that ends early ends them all, with one message.
"""

import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from fdch.errors import ProcessLost, SettingError
from fdch.networks.device import resolve_device

TIMEOUT = timedelta(minutes=10)  # a checkpoint is written in less
BETWEEN_LOOKS = 0.1  # seconds


@dataclass
class Group:
    """The processes of a training, as one of them sees them."""

    rank: int  # this process's number, from 0
    count: int  # of processes
    store: Any  # torch's Store, which some builds of torch lack
    # numbers of the blocks that the first process goes through first
    turns: Iterator[int] = field(default_factory=itertools.count)
    # taken for good by the thread that ends this process
    ending: threading.Lock = field(default_factory=threading.Lock)

    def wait_for(self, *keys: str) -> None:
        """Wait until the store has some keys.

        Looks now and then: a blocking wait would keep all threads from the store.
        """
        with self.translate_errors():
            while not self.store.check(list(keys)):
                time.sleep(BETWEEN_LOOKS)

    def begin_ending(self) -> bool:
        """Let no other thread end this process; return whether to report why.

        Nothing is left to report where another process has done so.
        """
        self.ending.acquire()
        try:
            return bool(self.store.add("reports", 1) == 1)
        except RuntimeError:  # torchrun is gone
            return True

    def describe_loss(self) -> str:
        """Say that a process is missing, and how to go on."""
        return (
            f"training stopped, because one of its {self.count} processes was lost or "
            "stopped. Go on from the last checkpoint with the same command and "
            "--resume, with any number of processes."
        )

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn whatever breaks an exchange between processes into one clear error."""
        try:
            yield
        except RuntimeError as problem:
            raise ProcessLost(self.describe_loss()) from problem


_group: Group | None = None
_joins = itertools.count()


@contextmanager
def join_processes(device: str, timeout: timedelta = TIMEOUT) -> Iterator[str]:
    """Share training inside a block with all processes that torchrun has started.

    Yields the device of this process; without torchrun the one given. Other processes
    are waited for in the middle of a batch until the timeout. Whatever ends the block
    early, only one of the processes reports it.
    """
    global _group
    if not dist.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield device
        return
    store, rank, count = next(rendezvous("env://"))
    prefix = f"join {next(_joins)}"
    _group = Group(rank, count, dist.PrefixStore(prefix, store))  # type: ignore[attr-defined]
    try:
        with _report_termination(_group):
            own = _choose_device(device)
            _connect(_group, "nccl" if own.startswith("cuda") else "gloo", timeout)
            yield own
            dist.destroy_process_group()
    except BaseException as problem:
        if not _group.begin_ending():
            raise SystemExit(1) from problem
        raise
    finally:
        _group = None


def current_group() -> Group | None:
    """Return the processes that share the training; None for one process alone."""
    return _group


def count_processes() -> int:
    """Return how many processes share the training."""
    return 1 if _group is None else _group.count


def is_first() -> bool:
    """Whether this process writes files and prints, for all."""
    return _group is None or _group.rank == 0


@contextmanager
def take_turns() -> Iterator[None]:
    """Let the first process finish a block before the others begin it.

    They then find what it wrote.
    """
    turn = "" if _group is None else f"turn {next(_group.turns)}"
    if _group is not None and _group.rank > 0:
        _group.wait_for(turn)
    yield
    if _group is not None and _group.rank == 0:
        with _group.translate_errors():
            _group.store.set(turn, "")


def _choose_device(name: str) -> str:
    """Return this process its own accelerator, or the processor."""
    device = resolve_device(name)
    if device.type != "cuda":
        return str(device)
    there, local = torch.cuda.device_count(), int(os.environ["LOCAL_RANK"])
    if device.index is not None or local >= there:
        raise SettingError(
            f"device '{name}' cannot be used by {os.environ['LOCAL_WORLD_SIZE']} "
            f"processes on a machine with {there} accelerators: each needs its own. "
            "Start as many processes as accelerators, with --device cuda, or use "
            "--device cpu."
        )
    torch.cuda.set_device(local)
    return f"cuda:{local}"


def _connect(group: Group, backend: str, timeout: timedelta) -> None:
    """Connect the processes, once all of them have come this far."""
    with group.translate_errors():
        group.store.set(f"process {group.rank}", backend)
    group.wait_for(*(f"process {rank}" for rank in range(group.count)))
    with group.translate_errors():
        dist.init_process_group(
            backend,
            timeout=timeout,
            store=dist.PrefixStore(backend, group.store),  # type: ignore[attr-defined]
            rank=group.rank,
            world_size=group.count,
        )


@contextmanager
def _report_termination(group: Group) -> Iterator[None]:
    """Report SIGTERM inside a block, which torchrun sends when a process is lost.

    A thread does it, because the main one may be waiting in a library, for ever, for
    the process that is gone.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def watch() -> None:
        while os.read(reading, 1)[0] != signal.SIGTERM:
            pass
        if group.begin_ending():
            sys.stderr.write(f"error: {group.describe_loss()}\n")
            sys.stderr.flush()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writing)
    yield
    # not after an error: SIGTERM must not cut off its message
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, before)
