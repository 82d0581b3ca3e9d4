"""What several tests share."""

import tarfile
from pathlib import Path

import pytest

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
