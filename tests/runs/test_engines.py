"""Engines: parts in, each out once and in order."""

import pickle
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.pictures.placed_pictures import PlacedPictures
from fdch.errors import BrokenPicture, MissingExtra, MissingPackage, ProcessLost
from fdch.runs import ray_engine
from fdch.runs.engines import cut_into_parts, open_engine
from fdch.runs.ray_engine import RayEngine, encode_part
from fdch.training.context import Context

PARTS = 20


class RayError(Exception):
    """What Ray raises when the workers of a task have died too often."""


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class Ray:
    """Stands in for the package: tasks end in any order, and may fail."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, seed=0, dies=lambda part: False, cores=3):
        self.random, self.dies, self.cores = random.Random(seed), dies, cores
        self.started = self.most_waiting = 0
        self.cancelled = []
        self.is_shut_down = False

    def cluster_resources(self):
        return {"CPU": float(self.cores)}

    def put(self, value):
        return value

    def remote(self, **needs):
        assert needs == {"num_cpus": 1, "max_retries": 3}
        return lambda function: SimpleNamespace(remote=self._start)

    def _start(self, model, device, broken, work, part):
        self.started += 1
        return Reference(work, pickle.loads(pickle.dumps(part)))

    def wait(self, references, num_returns):
        assert num_returns == 1
        self.most_waiting = max(self.most_waiting, len(references))
        chosen = self.random.choice(references)
        return [chosen], [each for each in references if each is not chosen]

    def get(self, reference):
        if self.dies(reference.part):
            raise RayError("a worker died\nout of memory.")
        try:
            result = reference.work(None, reference.part, None)
        except BrokenPicture as problem:
            raise RayTaskError(problem) from problem
        kept = np.ones(len(reference.part), dtype=np.bool_)
        return ray_engine.Encoded(kept, (), result)

    def cancel(self, reference, force):
        assert force
        self.cancelled.append(reference)

    def shutdown(self):
        self.is_shut_down = True


class Reference:
    def __init__(self, work, part):
        self.work, self.part = work, part


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
def test_every_part_comes_once_in_order_though_they_end_in_any(
    seed, pairs, monkeypatch
):
    ray = Ray(seed)
    with make_engine(ray, monkeypatch) as engine:
        done = list(engine.run(ids_of, cut_into_parts(pairs, 2, 2)))
    assert [name for _, found in done for name in found] == pairs.ids.tolist()
    assert [part.ids.tolist() for part, _ in done] == [found for _, found in done]
    assert ray.started == PARTS and ray.most_waiting == 2 * ray.cores
    assert ray.is_shut_down


def test_workers_that_always_die_end_the_work_with_the_reason(pairs, monkeypatch):
    ray = Ray(dies=lambda part: "4" in part.ids)
    with (
        make_engine(ray, monkeypatch) as engine,
        pytest.raises(ProcessLost, match=r"^4 workers.*: out of memory"),
    ):
        list(engine.run(ids_of, cut_into_parts(pairs, 2, 2)))
    assert ray.cancelled


def test_our_errors_come_back_as_they_are(pairs, monkeypatch):
    def refuse(method, part, context):
        raise BrokenPicture("picture 'a.jpg': not a picture.")

    with (
        make_engine(Ray(), monkeypatch) as engine,
        pytest.raises(BrokenPicture, match=r"picture 'a\.jpg'"),
    ):
        list(engine.run(refuse, cut_into_parts(pairs, 2, 2)))


def test_a_worker_skips_broken_pictures_and_names_them(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(b"no picture")
    part = PairedSet.from_arrays(images=[tmp_path / "a.png"] * 2, texts=["a", "b"])
    part = ray_engine._pack(part)
    assert isinstance(part.images, PlacedPictures)

    def decode(method, part, context):
        return [part.images.decode(row, 8) for row in range(len(part))]

    monkeypatch.setattr(ray_engine, "_load_model", lambda model, device: (None, None))
    kept, skipped, result = encode_part([None], "cpu", "skip", decode, part)
    assert (kept.tolist(), result) == ([False, False], [])
    assert [row.name for row in skipped] == ["0", "1"]
    with pytest.raises(BrokenPicture, match=r"a\.png': .*It belongs to '0'"):
        encode_part([None], "cpu", "refuse", decode, part)


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
    ray = Ray()
    with make_engine(ray, monkeypatch) as engine:
        engine._is_own = False
    assert not ray.is_shut_down


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"fdch\[ray\]"):
        ray_engine._connect()
