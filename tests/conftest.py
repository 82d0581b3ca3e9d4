"""What several tests share."""

import fcntl
import importlib.util
import json
import os
import secrets
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

# Before numpy and torch start: threads only slow the small sums of tests, and
# tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.milvus_keeper import using_server
from tests.trained_scenes import RUN, make_scenes, open_scenes

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences, Vocabulary, WordVectors

# A machine may be busy, and loops not yet compiled: no example is too slow. A commit
# is judged by the same examples each time; "exploring" draws others.
PATIENT = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
FIXED = hypothesis.settings(PATIENT, derandomize=True, database=None)
hypothesis.settings.register_profile("quick", FIXED, max_examples=20)
hypothesis.settings.register_profile("thorough", FIXED, max_examples=100)
hypothesis.settings.register_profile("exploring", PATIENT, max_examples=500)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
THEMES = {
    "animals": ("dog", "cat", "horse", "cow", "sheep"),
    "vehicles": ("car", "truck", "bus", "bicycle", "train"),
    "water": ("beach", "ocean", "island", "lake", "river"),
}
QUICK = {
    "fusion_width": "24",
    "image_hidden": "0",
    "text_hidden": "48",
    "fusion_hidden": "32",
    "stage_one_epochs": "5",
    "stage_two_epochs": "10",
    "batch_size": "40",
    "learning_rate": "2e-2",
}


# what needs one of these is integration
OTHER_PROGRAMS = {"browser", "milvus_server", "milvus_url"}


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Mark tests that need a browser or a server of another kind."""
    for item in items:
        if OTHER_PROGRAMS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Keep every test away from the user's cache folder."""
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def between_workers(tmp_path_factory):
    """A folder that all processes of a session share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def shared_cache(between_workers):
    """A cache for the tests that name it in place of their own."""
    folder = between_workers / "shared-cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def scenes(between_workers, shared_cache):
    """Pictures in files and a run trained on them, once for all processes.

    Has what `open_scenes` gives; nothing of it is to be changed.
    """
    folder = between_workers / "scenes"
    with (between_workers / "scenes.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / RUN / "run.json").exists():
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("FDCH_CACHE", str(shared_cache))
                make_scenes(folder)
    return open_scenes(folder)


@pytest.fixture(scope="session")
def mirflickr(tmp_path_factory):
    """The unpacked MIRFLICKR-25K pairs, where they are at hand."""
    archive = SHARED_DATA / "mirflickr25k.tar"
    if not archive.exists():
        pytest.skip(f"MIRFLICKR-25K is not at {archive}")
    folder = tmp_path_factory.mktemp("mirflickr")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def factor_pairs():
    """A maker of pairs whose labels are factors that both noisy views share."""

    def make(items=200, *, seed=0, classes=6, width=24, noise=0.5):
        rng = np.random.default_rng(seed)
        Y = (rng.random((items, classes)) < 0.2).astype(np.uint8)
        bare = np.flatnonzero(~Y.any(axis=1))
        Y[bare, rng.integers(classes, size=len(bare))] = 1
        factors = np.random.default_rng(99).standard_normal((classes, width))
        images = Y @ factors + noise * rng.standard_normal((items, width))
        owners = np.repeat(np.arange(classes), 15)
        chances = 0.04 * noise + 0.3 * Y[:, owners]
        words = (rng.random(chances.shape) < chances).astype(np.float32)
        return PairedSet(
            ids=np.array([f"pair {i}" for i in range(items)], dtype=object),
            images=ImageFeatures(images),
            texts=WordVectors(csr_array(words)),
            labels=Y,
            label_names=tuple(f"label {i}" for i in range(classes)),
            name="factors",
        )

    return make


@pytest.fixture(scope="session")
def sentence_pairs(factor_pairs):
    """A maker of such pairs whose texts are written: the words of label i are wi-j."""

    def make(items=200, **options):
        pairs = factor_pairs(items, **options)
        words = [f"w{column // 15}-{column % 15}" for column in range(90)]
        rows = np.split(pairs.texts.matrix.indices, pairs.texts.matrix.indptr[1:-1])
        texts = [" ".join(words[column] for column in row) for row in rows]
        return replace(pairs, texts=Sentences(texts, Vocabulary(tuple(words))))

    return make


@pytest.fixture(scope="session")
def theme_pairs():
    """Pairs of three themes: two words of a theme, and features that show it."""
    rng = np.random.default_rng(0)
    themes = np.arange(150) % len(THEMES)
    names = list(THEMES)
    labels = np.eye(len(THEMES), dtype=np.uint8)[themes]
    features = labels @ rng.standard_normal((3, 8)) + rng.normal(0, 0.2, (150, 8))
    return PairedSet(
        ids=np.array([f"pair {row}" for row in range(150)], dtype=object),
        images=ImageFeatures(features.astype(np.float32)),
        texts=Sentences([" ".join(rng.choice(THEMES[names[t]], 2)) for t in themes]),
        labels=labels,
        label_names=tuple(names),
        name="themes",
    )


@pytest.fixture(scope="session")
def write_features():
    """A writer of pairs of features as a file that can be named as data."""

    def write(path, pairs):
        np.savez(
            path,
            image=pairs.images.values,
            text=pairs.texts.matrix.toarray(),
            labels=pairs.labels,
        )
        return str(path)

    return write


@pytest.fixture(scope="session")
def quick():
    """Settings with which FDCH learns a little in a second or two."""
    return QUICK


@pytest.fixture
def task(tmp_path, factor_pairs, write_features):
    """A training task of a second or two."""
    # torch is loaded only by the tests that learn
    from fdch.runs.pipeline import TrainingTask

    source = write_features(tmp_path / "features.npz", factor_pairs(240))
    return TrainingTask(source, tmp_path / "run", "fdch", bits=16, settings=QUICK)


@pytest.fixture(scope="session")
def original(tmp_path_factory, factor_pairs, write_features):
    """The folder of a run that was trained once."""
    from fdch.runs.pipeline import TrainingTask, train_run

    folder = tmp_path_factory.mktemp("original")
    source = write_features(folder / "features.npz", factor_pairs(240))
    train_run(TrainingTask(source, folder / "run", "fdch", bits=16, settings=QUICK))
    return folder


@pytest.fixture
def trained(original, task):
    """The run of the task, trained from equal data in another place."""
    from fdch.runs.run import open_run
    from fdch.runs.run_files import DESCRIPTION

    shutil.copytree(original / "run", task.out)
    path = task.out / DESCRIPTION
    facts = json.loads(path.read_text())
    facts["data"] |= {"source": task.source, "location": task.source}
    path.write_text(json.dumps(facts))
    return open_run(task.out)


@pytest.fixture(scope="session")
def milvus_server(between_workers):
    """Host and port of a real Milvus server, one for all processes of a session."""
    if importlib.util.find_spec("pymilvus") is None:
        pytest.skip("pymilvus is not installed")
    if importlib.util.find_spec("milvus") is None:
        pytest.skip("the package milvus, which holds the server, is not installed")
    if address := os.environ.get("FDCH_TEST_MILVUS"):  # as scripts/mutate.py sets it
        yield address
        return
    folder = between_workers / "milvus"
    folder.mkdir(exist_ok=True)
    with using_server(folder) as server:
        if "problem" in server:
            pytest.skip(f"the Milvus server cannot run here: {server['problem']}")
        with pytest.MonkeyPatch.context() as patch:
            # the first answer to a client may take long on a busy machine
            patch.setattr("fdch.index.milvus.connection.CONNECT_SECONDS", 60.0)
            yield server["address"]


@pytest.fixture
def milvus_url(milvus_server):
    """A collection's address that nobody has used; deleted after the test."""
    from pymilvus import MilvusClient

    name = f"test_{secrets.token_hex(6)}"
    yield f"milvus://{milvus_server}/{name}"
    client = MilvusClient(f"http://{milvus_server}")
    for collection in (name, f"{name}_model"):
        client.drop_collection(collection)
    client.close()
