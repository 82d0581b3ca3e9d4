"""What several tests share."""

import os
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
