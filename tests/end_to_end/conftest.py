"""A run trained on generated pictures, and places where an index can be made."""

import secrets
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from fdch import Index, Searcher
from fdch.data.images import PictureFiles, Pictures
from fdch.data.pairs import PairedSet
from fdch.data.splits import SplitSizes
from fdch.data.texts import Sentences
from fdch.experiment import TrainingTask, train_run
from fdch.index.opening import drop_store, is_server

SCENES, BITS = 300, 24
SIZES = SplitSizes(query=20, train=260, validation=80)
QUICK = {
    "stage_one_epochs": "25",
    "stage_two_epochs": "25",
    "text_hidden": "128",
    "fusion_width": "64",
    "fusion_hidden": "64",
    "batch_size": "24",
    "learning_rate": "5e-3",
}


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(shared_cache, monkeypatch):
    """Let these tests share one cache: features take seconds."""
    monkeypatch.setenv("FDCH_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def scenes(tmp_path_factory, shared_cache):
    """Generated pairs with their pictures in files, and runs trained on them."""
    folder = tmp_path_factory.mktemp("scenes")
    generated = PairedSet.read(f"scenes:{SCENES}")
    assert isinstance(generated.images, Pictures)
    assert isinstance(generated.texts, Sentences)
    (folder / "pictures").mkdir()
    rows = ["id,image,text,labels,scene,objects"]
    for row, name in enumerate(generated.ids):
        path = folder / "pictures" / f"{name}.png"
        Image.fromarray(np.asarray(generated.images.content(row))).save(path)
        labels = np.array(generated.label_names)[generated.labels[row] == 1]
        cells = (generated.columns[key][row] for key in ("scene", "objects"))
        text = generated.texts.values[row].replace('"', "")
        rows.append(
            f'{name},pictures/{path.name},"{text}",{";".join(labels)},'
            + ",".join(map(str, cells))
        )
    manifest = folder / "pairs.csv"
    manifest.write_text("\n".join(rows) + "\n", "utf-8")
    task = TrainingTask(
        str(manifest), folder / "run", bits=BITS, settings=QUICK, sizes=SIZES
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        run = train_run(task)
        hasty = QUICK | {"stage_one_epochs": "1", "stage_two_epochs": "1"}
        other = train_run(replace(task, out=folder / "other", settings=hasty))
    pairs = PairedSet.read(manifest)
    assert isinstance(pairs.images, PictureFiles)
    return SimpleNamespace(pairs=pairs, manifest=manifest, run=run, other=other)


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
    if is_server(name):
        drop_store(name)
