"""Parts of data encoded by the workers of a Ray cluster.

This process reads the data and sends each part, pictures included, so that workers
need neither its files nor the run's. A worker loads the model once. If one dies, Ray
gives its part to another. Results are small and come back into this process, which
alone knows which parts are done.

These are plain tasks and not a Ray Dataset: that one wants all its input at the start
or readable from every machine, while parts are made here one by one.
"""

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import Broken, PairedSet, Skipped
from fdch.data.pictures.placed_pictures import load_pictures
from fdch.errors import BrokenPicture, FdchError, MissingExtra, ProcessLost
from fdch.methods._base import HashMethod
from fdch.runs.engines import R, Work
from fdch.runs.run import Run, copy_model, open_run
from fdch.training.context import Context

PARTS_EACH = 2  # one is on its way to a worker while it encodes the other
MAX_DEATHS = 4  # over one part
SETTINGS = {  # which Ray reads when it is imported
    # a cluster that is gone is noticed within a minute, not a quarter of an hour
    "RAY_NUM_REDIS_GET_RETRIES": "1",
    # Ray prints what happens on the cluster to standard output, where results go
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
    # a worker that Ray ends for lack of memory counts as any other
    "RAY_task_oom_retries": str(MAX_DEATHS - 1),
}


class Encoded(NamedTuple):
    """A worker's result of a part, and the rows it kept."""

    kept: NDArray[np.bool_]
    skipped: tuple[Skipped, ...]
    result: Any


def encode_part(
    model: list[Any], device: str, broken: Broken, work: Work[Any], part: PairedSet
) -> Encoded:
    """Process a part, without its broken pictures if they are skipped.

    Runs in a worker. The list keeps Ray from fetching the model for every part.
    """
    method, context = _load_model(model[0], device), Context(device=device)
    whole = part
    try:
        result = work(method, part, context)
    except BrokenPicture:
        part = part.without_broken_pictures(broken)
        result = work(method, part, context)
    return Encoded(np.isin(whole.ids, part.ids), part.skipped, result)


@lru_cache(maxsize=1)
def _load_model(model: Any, device: str) -> HashMethod:
    """Fetch the files of a model and open it, once in each worker."""
    import ray

    with tempfile.TemporaryDirectory(prefix="fdch-model-") as folder:
        for name, content in ray.get(model).items():
            Path(folder, name).write_bytes(content)
        return open_run(folder, Context(device=device)).method


class RayEngine:
    """Encodes on a cluster: a worker to each accelerator, else to each core."""

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
        """Yield each part, in their order, with the result of the work on it."""
        workers, needs = self._count_workers()
        encode = self._ray.remote(**needs, max_retries=MAX_DEATHS - 1)(encode_part)
        given = [self._model], self._device, self._broken, work
        waiting = enumerate(parts)
        sent: dict[Any, tuple[int, PairedSet]] = {}  # by what Ray answers with
        finished: dict[int, tuple[PairedSet, R]] = {}
        following = 0
        try:
            while True:
                for number, part in islice(waiting, PARTS_EACH * workers - len(sent)):
                    sent[encode.remote(*given, _pack(part))] = number, part
                if not sent:
                    return
                [done], _ = self._ray.wait(list(sent), num_returns=1)
                number, part = sent.pop(done)
                encoded = self._get(done)
                finished[number] = _unpack(part, encoded), encoded.result
                while following in finished:
                    yield finished.pop(following)
                    following += 1
        finally:
            for left in sent:
                self._ray.cancel(left, force=True)

    def _get(self, done: Any) -> Encoded:
        exceptions = self._ray.exceptions
        try:
            encoded: Encoded = self._ray.get(done)
        except exceptions.RayTaskError as problem:
            if isinstance(problem.cause, FdchError):
                raise problem.cause from None
            raise
        except exceptions.RayError as problem:
            reason = str(problem).strip().splitlines()[-1]
            raise ProcessLost(
                f"{MAX_DEATHS} workers of the Ray cluster died over one part: {reason} "
                "Check that every machine has fdch installed, and memory for a worker "
                "on each core ('ray start --num-cpus' makes them fewer)."
            ) from problem
        return encoded

    def _count_workers(self) -> tuple[int, dict[str, int]]:
        """Return how many workers the cluster has room for, and what each needs."""
        there = self._ray.cluster_resources()
        accelerators = int(there.get("GPU", 0))
        if accelerators and self._device != "cpu":
            # max_calls: Ray would start another process for every part
            return accelerators, {"num_gpus": 1, "num_cpus": 1, "max_calls": 0}
        return max(1, int(there.get("CPU", 1))), {"num_cpus": 1}


def _pack(part: PairedSet) -> PairedSet:
    """Return what a worker needs of a part, with its pictures in memory."""
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
    """Return the package, connected to a cluster, and whether that was done here."""
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
