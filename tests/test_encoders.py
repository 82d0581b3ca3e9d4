"""An index answers alike, whichever program encodes its queries."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from fdch.data.pairs import PairedSet
from fdch.encoder_speed import encoder_speed
from fdch.encoders import open_encoder
from fdch.errors import ModelMismatch
from fdch.experiment import TrainingTask, train_run
from fdch.exporting.writing import export_run
from fdch.indexing import Index
from fdch.search import Searcher

QUICK = {"stage_one_epochs": "1", "stage_two_epochs": "1", "batch_size": "32",
         "finetune": "true", "image_network": "small"}  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    task = TrainingTask("scenes:80", folder / "run", bits=16, settings=QUICK)
    run = train_run(task)
    export_run(run, folder / "onnx")
    with Index.create(folder / "scenes.index", run) as made:
        made.add(PairedSet.read("scenes:80"))
    with Index.open(folder / "scenes.index") as opened:
        yield opened


@pytest.fixture(params=["onnx", "folder"])
def exported(request, index):
    name = "onnx"
    if request.param == "folder":
        name = index.store.path.parent / "onnx"
    return open_encoder(index, name)


def test_answers_are_those_of_the_method(index, exported):
    plain, fast = Searcher(index), Searcher(index, exported)
    fast.warm()
    pictures = list(np.random.default_rng(0).integers(0, 256, (2, 30, 40, 3), np.uint8))
    for rerank in (False, True):
        texts = ["a red car", "beach"]
        for ours, theirs in zip(
            fast.by_texts(texts, k=5, rerank=rerank)
            + fast.by_images(pictures, k=5, rerank=rerank),
            plain.by_texts(texts, k=5, rerank=rerank)
            + plain.by_images(pictures, k=5, rerank=rerank),
            strict=True,
        ):
            assert ours.ids == theirs.ids
            assert ours.query == theirs.query


def test_torch_is_the_method_itself(index):
    assert open_encoder(index, "torch") is None
    assert Searcher(index).encoder is index.method


def test_an_encoder_of_another_model_is_refused(index, exported):
    exported.fingerprint = "0" * 32
    with pytest.raises(ModelMismatch, match="0" * 32):
        Searcher(index, exported)


def test_both_encoders_are_timed(index):
    found = encoder_speed(index.run, repeats=1)
    assert found["text"]["ratio"]["median"] > 0
    assert found["picture"]["onnx_milliseconds"] > 0
