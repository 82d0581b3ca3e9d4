"""Engines: parts in, each out once and in order, whatever dies on the way."""

import pickle
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.pictures.places import PlacedPictures
from fdch.errors import BrokenPicture, MissingExtra, MissingPackage, ProcessLost
from fdch.runs import ray_engine
from fdch.runs.engines import cut_into_parts, open_engine
from fdch.runs.ray_engine import EncodingWorker, RayEngine
from fdch.training.context import Context

PARTS = 20


class RayError(Exception):
    """What a dead worker leaves behind."""


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class Ray:
    """Stands in for the package: workers that a test lets die, in any order."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, seed, deaths, cores=3):
        self.random, self.deaths, self.cores = random.Random(seed), deaths, cores
        self.started = self.killed = 0
        self.is_shut_down = False

    def cluster_resources(self):
        return {"CPU": float(self.cores)}

    def put(self, value):
        return value

    def remote(self, **needs):
        assert needs == {"num_cpus": 1, "max_restarts": 0}
        return lambda kind: SimpleNamespace(remote=self._start)

    def _start(self):
        self.started += 1
        worker = SimpleNamespace(is_dead=False)
        for name in ("load", "encode"):
            calls = SimpleNamespace(remote=self._call(worker, name))
            setattr(worker, name, calls)
        return Handle(worker)

    def _call(self, worker, name):
        return lambda *given: Reference(worker, name, given)

    def wait(self, references, num_returns):
        assert num_returns == 1
        chosen = self.random.choice(references)
        return [chosen], [each for each in references if each is not chosen]

    def get(self, reference):
        worker = reference.worker
        worker.is_dead |= self.deaths(self.random, reference.name)
        if worker.is_dead:
            raise RayError("a worker died\nout of memory.")
        if reference.name == "load":
            return None
        work, part = reference.given
        part = pickle.loads(pickle.dumps(part))
        try:
            result = work(None, part, None)
        except BrokenPicture as problem:
            raise RayTaskError(problem) from problem
        kept = np.ones(len(part), dtype=np.bool_)
        return ray_engine.Encoded(kept, (), result)

    def kill(self, worker):
        self.killed += 1

    def shutdown(self):
        self.is_shut_down = True


class Handle:
    def __init__(self, worker):
        self.load, self.encode = worker.load, worker.encode


class Reference:
    def __init__(self, worker, name, given):
        self.worker, self.name, self.given = worker, name, given


def make_engine(ray, monkeypatch):
    monkeypatch.setattr(ray_engine, "_connect", lambda: (ray, True))
    monkeypatch.setattr(ray_engine, "copy_model", lambda run, folder: None)
    run: object = None
    return RayEngine(run, "refuse", "auto")  # type: ignore[arg-type]


@pytest.fixture
def pairs():
    rows = 2 * PARTS - 1
    return PairedSet.from_arrays(
        images=np.arange(rows, dtype=np.float32)[:, None],
        texts=csr_array(np.ones((rows, 2))),
        labels=np.ones((rows, 1), dtype=np.uint8),
    )


def ids_of(method, part, context):
    assert not part.label_names
    return part.ids.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_every_part_comes_once_in_order_though_workers_die(seed, pairs, monkeypatch):
    left = [6]

    def dies(chance, name):
        left[0] -= (is_dead := left[0] > 0 and chance.random() < 0.15)
        return is_dead

    ray = Ray(seed, dies)
    with make_engine(ray, monkeypatch) as engine:
        done = list(engine.run(ids_of, cut_into_parts(pairs, 2, 2)))
    assert [name for _, found in done for name in found] == pairs.ids.tolist()
    assert [part.ids.tolist() for part, _ in done] == [found for _, found in done]
    assert ray.started >= ray.killed == 3
    assert ray.is_shut_down


@pytest.mark.parametrize(("fatal", "deaths"), [("load", 12), ("encode", 4)])
def test_workers_that_always_die_end_the_work_with_the_reason(
    fatal, deaths, pairs, monkeypatch
):
    ray = Ray(0, lambda chance, name: name == fatal)
    with (
        make_engine(ray, monkeypatch) as engine,
        pytest.raises(ProcessLost, match=f"^{deaths} workers.*: out of memory"),
    ):
        list(engine.run(ids_of, cut_into_parts(pairs, 2, 2)))
    assert ray.killed == 3


def test_our_errors_come_back_as_they_are(pairs, monkeypatch):
    def refuse(method, part, context):
        raise BrokenPicture("picture 'a.jpg': not a picture.")

    with (
        make_engine(Ray(0, lambda *_: False), monkeypatch) as engine,
        pytest.raises(BrokenPicture, match=r"picture 'a\.jpg'"),
    ):
        list(engine.run(refuse, cut_into_parts(pairs, 2, 2)))


def test_no_more_workers_are_started_than_there_are_parts(pairs, monkeypatch):
    ray = Ray(0, lambda *_: False, cores=100)
    with make_engine(ray, monkeypatch) as engine:
        list(engine.run(ids_of, cut_into_parts(pairs[:6], 2, 2)))
    assert ray.started == 3


def test_a_worker_skips_broken_pictures_and_names_them(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no picture")
    part = PairedSet.from_arrays(images=[tmp_path / "a.png"] * 2, texts=["a", "b"])
    part = ray_engine._pack(part)
    assert isinstance(part.images, PlacedPictures)

    def decode(method, part, context):
        return [part.images.decode(row, 8) for row in range(len(part))]

    worker = EncodingWorker()
    worker._method = worker._context = None  # type: ignore[assignment]
    worker._broken = "skip"
    kept, skipped, result = worker.encode(decode, part)
    assert (kept.tolist(), result) == ([False, False], [])
    assert [row.name for row in skipped] == ["0", "1"]
    worker._broken = "refuse"
    with pytest.raises(BrokenPicture, match=r"a\.png': .*It belongs to '0'"):
        worker.encode(decode, part)


def test_a_missing_extra_reaches_other_processes_with_its_message():
    problem = MissingExtra("the engine 'ray'", "ray")
    copy = pickle.loads(pickle.dumps(problem))
    assert isinstance(copy, MissingPackage)
    assert str(copy) == str(problem)


def test_parts_that_are_packed_need_no_files(tmp_path):
    part = PairedSet.from_arrays(images=[tmp_path / "gone.png"], texts=["a"])
    assert isinstance(part.images, PictureFiles)
    packed = pickle.loads(pickle.dumps(ray_engine._pack(part)))
    with pytest.raises(BrokenPicture, match=r"gone\.png': there is no such file"):
        packed.images.decode(0, 8)


def test_without_a_cluster_the_error_says_how_to_start_one(monkeypatch):
    ray = pytest.importorskip("ray", exc_type=ImportError)

    def fail(*args, **more):
        raise ConnectionError("Could not find any running Ray instance.\nmore")

    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    run: object = None
    with (
        pytest.raises(ProcessLost, match=r"no Ray cluster.*any running Ray instance"),
        open_engine("ray", run, "refuse", Context()),  # type: ignore[arg-type]
    ):
        pass


def test_a_connection_that_was_there_before_stays(pairs, monkeypatch):
    ray = Ray(0, lambda *_: False)
    with make_engine(ray, monkeypatch) as engine:
        engine._is_own = False
    assert not ray.is_shut_down


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"fdch\[ray\]"):
        ray_engine._connect()
