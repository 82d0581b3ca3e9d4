"""A run trained on generated pictures, and places where an index can be made."""

import secrets
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.trained_scenes import training_task

from fdch import Index, Searcher
from fdch.index.milvus import MilvusStore
from fdch.runs.pipeline import train_run


@pytest.fixture(autouse=True)
def own_cache(shared_cache, monkeypatch):
    """Let these tests share one cache: features take seconds."""
    monkeypatch.setenv("FDCH_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def scenes(scenes, shared_cache, tmp_path_factory):
    """The pairs and their run, and another run that learned less."""
    hasty = {"stage_one_epochs": "1", "stage_two_epochs": "1"}
    other = training_task(scenes.folder, **hasty)
    out = tmp_path_factory.mktemp("other") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        return SimpleNamespace(**vars(scenes), other=train_run(replace(other, out=out)))


@pytest.fixture(params=["folder", pytest.param("milvus", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """Name an index that is not there yet, in each kind of store."""
    if request.param == "milvus":
        return request.getfixturevalue("milvus_url")
    return str(tmp_path / "index")


@pytest.fixture(scope="module", params=["folder", "milvus"])
def searcher(request, scenes, shared_cache, tmp_path_factory):
    """Search all scenes, in each kind of store; made once and left unchanged."""
    name = str(tmp_path_factory.mktemp("searched") / "index")
    if request.param == "milvus":
        server = request.getfixturevalue("milvus_server")
        name = f"milvus://{server}/test_{secrets.token_hex(6)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        with Index.create(name, scenes.run) as index:
            index.add(scenes.pairs)
            yield Searcher(index)
    if request.param == "milvus":
        MilvusStore.drop(name)
