"""Parts of data encoded by the workers of a Ray cluster.

This process reads the data and sends each part, pictures included, so that workers
need neither its files nor the run's. A worker loads the model once. If one dies, its
parts go to others, and another is started in its place. Results are small and come
back into this process, which alone knows which parts are done.

These are plain actors and not a Ray Dataset: that one wants all its input at the start
or readable from every machine, while parts are made here one by one.
"""

import logging
import os
import tempfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.pictures.places import load_pictures
from fdch.errors import BrokenPicture, FdchError, MissingExtra, ProcessLost
from fdch.runs.engines import R, Work
from fdch.runs.run import Run, copy_model, open_run
from fdch.training.context import Context

_log = logging.getLogger(__name__)

PARTS_EACH = 2  # one is on its way to a worker while it encodes the other
SETTINGS = {  # which Ray reads when it is imported
    # a cluster that is gone is noticed within a minute, not a quarter of an hour
    "RAY_NUM_REDIS_GET_RETRIES": "1",
    # Ray prints what happens on the cluster to standard output, where results go
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
}
MAX_DEATHS = 4  # over one part, or of each worker while it loads


class Encoded(NamedTuple):
    """What a worker made of a part: which rows it kept, and their result."""

    kept: NDArray[np.bool_]
    skipped: tuple[Skipped, ...]
    result: Any


class EncodingWorker:
    """Encodes parts with a model; Ray runs it in a process of its own."""

    def load(self, files: dict[str, bytes], broken: Broken, device: str) -> None:
        """Open the model, once for all parts."""
        self._folder = tempfile.TemporaryDirectory(prefix="fdch-model-")
        for name, content in files.items():
            Path(self._folder.name, name).write_bytes(content)
        self._context, self._broken = Context(device=device), broken
        self._method = open_run(self._folder.name, self._context).method

    def encode(self, work: Work[Any], part: PairedSet) -> Encoded:
        """Do the work on a part, without its broken pictures if they are skipped."""
        whole = part
        try:
            result = work(self._method, part, self._context)
        except BrokenPicture:
            part = part.without_broken_pictures(self._broken)
            result = work(self._method, part, self._context)
        return Encoded(np.isin(whole.ids, part.ids), part.skipped, result)


class RayEngine:
    """Encodes on a cluster: a worker to each accelerator, else to each core.

    Args:
        run: Its model encodes.
        broken: What workers do about broken pictures.
        device: Where their networks run.
    """

    pictures_at_a_time = 128  # 16 MB of photos of 125 kB

    def __init__(self, run: Run, broken: Broken, device: str) -> None:
        self._run, self._broken, self._device = run, broken, device

    def __enter__(self) -> Self:
        self._ray, self._is_own = _connect()
        with tempfile.TemporaryDirectory() as place:
            copy_model(self._run, Path(place))
            files = {path.name: path.read_bytes() for path in Path(place).iterdir()}
        self._model = self._ray.put(files)
        return self

    def __exit__(self, *problem: object) -> None:
        if self._is_own:
            self._ray.shutdown()

    def run(
        self, work: Work[R], parts: Iterable[PairedSet]
    ) -> Iterator[tuple[PairedSet, R]]:
        """Give each part, in their order, with the result of the work on it."""
        source = enumerate(parts)
        most, needs = self._count_workers()
        waiting = deque(islice(source, most))
        sent: dict[int, PairedSet] = {}
        finished: dict[int, tuple[PairedSet, R]] = {}
        following = 0
        load = (self._model, self._broken, self._device)
        with WorkerPool(self._ray, len(waiting), needs, load) as pool:
            while waiting or sent:
                while waiting and pool.free:
                    number, part = waiting.popleft()
                    sent[number] = part
                    pool.send(number, work, _pack(part))
                    waiting.extend(islice(source, 0 if waiting else 1))
                if (event := pool.wait()) is None:
                    continue
                number, encoded = event
                part = sent.pop(number)
                if encoded is None:  # its worker died
                    waiting.appendleft((number, part))
                    continue
                finished[number] = _unpack(part, encoded), encoded.result
                while following in finished:
                    yield finished.pop(following)
                    following += 1

    def _count_workers(self) -> tuple[int, dict[str, int]]:
        """Return how many workers the cluster has room for, and what each needs."""
        there = self._ray.cluster_resources()
        accelerators = int(there.get("GPU", 0))
        if accelerators and self._device != "cpu":
            return accelerators, {"num_gpus": 1, "num_cpus": 1}
        return max(1, int(there.get("CPU", 1))), {"num_cpus": 1}


class WorkerPool:
    """Workers that are sent parts; another takes the place of each that dies.

    Args:
        ray: The package, connected to a cluster.
        workers: How many to start; they wait for room on the cluster.
        needs: Cores and accelerators of each.
        load: The arguments of `EncodingWorker.load`.
    """

    def __init__(
        self, ray: Any, workers: int, needs: dict[str, int], load: tuple[Any, ...]
    ) -> None:
        self._ray, self._load = ray, load
        # a dead worker is replaced here and not by Ray, which would hold its parts
        # back until the cluster has room for it
        self._kind = ray.remote(**needs, max_restarts=0)(EncodingWorker)
        self._workers: list[Any] = []
        # what is awaited: the part that a worker encodes, None while it loads
        self._busy: dict[Any, tuple[Any, int | None]] = {}
        self._deaths: Counter[int | None] = Counter()
        self.free: list[Any] = []  # workers, as often as each can be sent a part
        for _ in range(workers):
            self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        for worker in self._workers:
            self._ray.kill(worker)

    def send(self, number: int, work: Work[Any], part: PairedSet) -> None:
        """Send a part to the worker with the least to do."""
        worker = max(self.free, key=self.free.count)
        self.free.remove(worker)
        self._busy[worker.encode.remote(work, part)] = worker, number

    def wait(self) -> tuple[int, Encoded | None] | None:
        """Wait for one worker: its part, with None if it died over it.

        None alone if it had no part yet: it is free now, or was replaced.
        """
        exceptions = self._ray.exceptions
        [done], _ = self._ray.wait(list(self._busy), num_returns=1)
        worker, number = self._busy.pop(done)
        try:
            encoded: Encoded | None = self._ray.get(done)
        except exceptions.RayTaskError as problem:
            if isinstance(problem.cause, FdchError):
                raise problem.cause from None
            raise
        except exceptions.RayError as problem:
            self._replace(worker, number, problem)
            encoded = None
        else:
            if worker in self._workers:  # it has not died since
                self.free += [worker] * (PARTS_EACH if number is None else 1)
            if number is None:
                self._deaths[None] = 0  # workers can load the model
        return None if number is None else (number, encoded)

    def _start(self) -> None:
        worker = self._kind.remote()
        self._workers.append(worker)
        self._busy[worker.load.remote(*self._load)] = worker, None

    def _replace(self, dead: Any, number: int | None, problem: Exception) -> None:
        self._deaths[number] += 1
        most = MAX_DEATHS * (len(self._workers) if number is None else 1)
        if self._deaths[number] >= most:
            reason = str(problem).strip().splitlines()[-1]
            raise ProcessLost(
                f"{most} workers of the Ray cluster died "
                f"{'while loading the model' if number is None else 'over one part'}: "
                f"{reason} Check that every machine has fdch installed, and memory for "
                "a worker on each core ('ray start --num-cpus' makes them fewer)."
            )
        if dead in self._workers:  # it may have died over two parts
            _log.warning("a worker of the Ray cluster died; another takes its place")
            self._workers.remove(dead)
            self.free = [worker for worker in self.free if worker != dead]
            self._start()


def _pack(part: PairedSet) -> PairedSet:
    """Give what a worker needs of a part, with its pictures in memory."""
    return replace(
        part,
        images=load_pictures(part.images),
        labels=part.labels[:, :0],
        label_names=(),
        columns={},
        skipped=(),
    )


def _unpack(part: PairedSet, encoded: Encoded) -> PairedSet:
    """Leave out the rows that the worker did."""
    if encoded.kept.all():
        return part
    return replace(part[encoded.kept], skipped=part.skipped + encoded.skipped)


def _connect() -> tuple[Any, bool]:
    """Give the package, connected to a cluster, and whether that was done here."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtra("the engine 'ray'", "ray") from None
    if ray.is_initialized():
        return ray, False
    try:
        ray.init("auto", log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as problem:
        reason = str(problem).strip().splitlines()[0]
        raise ProcessLost(
            f"no Ray cluster can be reached: {reason} Start one with 'ray start "
            "--head', or name one by RAY_ADDRESS=host:port."
        ) from problem
    return ray, True
