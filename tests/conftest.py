"""What several tests share."""

import json
import os
import shutil
import tarfile
from pathlib import Path

# Before numpy and torch start: threads only slow the small sums of tests, and
# tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.data.images import ImageFeatures
from fdch.data.pairs import PairedSet
from fdch.data.texts import WordVectors

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
QUICK = {
    "fusion_width": "24",
    "text_hidden": "48",
    "fusion_hidden": "32",
    "stage_one_epochs": "5",
    "stage_two_epochs": "5",
    "batch_size": "40",
    "learning_rate": "2e-2",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Keep every test away from the user's cache folder."""
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path_factory.mktemp("cache")))


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


@pytest.fixture
def task(tmp_path, factor_pairs, write_features):
    """A training task of a second or two."""
    # torch is loaded only by the tests that learn
    from fdch.experiment import TrainingTask

    source = write_features(tmp_path / "features.npz", factor_pairs(240))
    return TrainingTask(source, tmp_path / "run", bits=16, settings=QUICK)


@pytest.fixture(scope="session")
def original(tmp_path_factory, factor_pairs, write_features):
    """The folder of a run that was trained once."""
    from fdch.experiment import TrainingTask, train_run

    folder = tmp_path_factory.mktemp("original")
    source = write_features(folder / "features.npz", factor_pairs(240))
    train_run(TrainingTask(source, folder / "run", bits=16, settings=QUICK))
    return folder


@pytest.fixture
def trained(original, task):
    """The run of the task, trained from equal data in another place."""
    from fdch.runs import DESCRIPTION, open_run

    shutil.copytree(original / "run", task.out)
    path = task.out / DESCRIPTION
    facts = json.loads(path.read_text())
    facts["data"]["source"] = task.source
    path.write_text(json.dumps(facts))
    return open_run(task.out)
