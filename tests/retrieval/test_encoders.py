"""An index answers alike, whichever program encodes its queries."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tests.milvus_keeper import free_ports

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from fdch import methods
from fdch.bench import encoding
from fdch.bench.encoding import (
    count_text_operations,
    encode_benchmark,
    encode_many,
    encoder_speed,
)
from fdch.bench.learning.floors import Ceilings
from fdch.data.cache import EXPORTS
from fdch.data.pairs import PairedSet
from fdch.errors import DamagedIndex, ModelMismatch, RunError
from fdch.export.onnx_files import export_run
from fdch.retrieval import encoders
from fdch.retrieval.encoders import open_encoder
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher
from fdch.runs.pipeline import TrainingTask, train_run
from fdch.training.context import Context

QUICK = {"stage_one_epochs": "1", "stage_two_epochs": "1", "batch_size": "32",
         "finetune": "true", "image_network": "small"}  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    task = TrainingTask("scenes:80", folder / "run", "fdch", bits=16, settings=QUICK)
    run = train_run(task)
    export_run(run, folder / "onnx")
    with Index.create(folder / "scenes.index", run) as made:
        made.add(PairedSet.read("scenes:80"))
    with Index.open(folder / "scenes.index") as opened:
        yield opened


@pytest.fixture
def quick_export(index, monkeypatch):
    """Copy the export at hand instead of making one in another process."""

    def export(run, out):
        shutil.copytree(index.store.path.parent / "onnx", out)

    monkeypatch.setattr(encoders, "_export", export)


@pytest.fixture(params=["onnx", "folder"])
def exported(request, index, quick_export):
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


def test_many_pictures_are_timed_beside_a_plain_loop(index):
    ceilings = Ceilings(1e9, 1e9, 1e9)
    found = encode_many(index.run.method, 1, Context(device="cpu"), ceilings)
    assert found is not None
    ours, peer = (found[side]["all"][0] for side in ("per_second", "peer_per_second"))
    assert found["ratio"]["all"] == [pytest.approx(ours / peer)]
    assert found["floor_seconds"] > 0


def test_the_floor_of_a_picture_is_that_of_many(index, monkeypatch):
    many = {"pictures": 4, "floor_seconds": 0.01}
    monkeypatch.setattr(encoding, "encode_many", lambda *_: many)
    sides: dict[str, dict[str, float]] = {"text": {}, "picture": {}}
    monkeypatch.setattr(encoding, "encoder_speed", lambda *_: sides)
    monkeypatch.setattr(encoding, "measure_ceilings", lambda _: Ceilings(1e9, 1, 1))
    found = encode_benchmark(index.run.folder, repeats=1, device="cpu")
    assert found["picture"]["floor_milliseconds"] == 2.5
    operations = count_text_operations(index.run.method)
    assert operations
    assert found["text"]["floor_milliseconds"] == pytest.approx(operations / 1e6)
    assert found["many"] is many


def test_operations_of_a_text_are_those_of_its_words_and_the_layers(index):
    method = index.run.method
    hidden = method.text_hidden
    static, words = method.inputs.static_width, encoding.WORDS
    expected = 2 * hidden * (words + static + method.bits)
    assert count_text_operations(method) == expected


def test_ready_features_have_no_text_to_count():
    pairs = PairedSet.from_arrays(
        images=np.eye(6), texts=np.eye(6), labels=np.eye(6, dtype=int)
    )
    assert count_text_operations(methods.load("scm_seq")(bits=4).fit(pairs)) is None


def kept(cache):
    return sorted((cache / EXPORTS).iterdir())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def no_export(*_):
    raise AssertionError("an export is at hand")


def test_an_export_is_made_once(index, cache, quick_export, monkeypatch):
    open_encoder(index, "onnx")
    [made] = kept(cache)
    assert made.name.startswith(index.fingerprint)
    monkeypatch.setattr(encoders, "_export", no_export)
    found = open_encoder(index, "onnx")
    assert found is not None
    assert {"image", "text"} <= {*found.sides}


def test_a_damaged_export_is_made_again(index, cache, quick_export):
    open_encoder(index, "onnx")
    [made] = kept(cache)
    (made / "text.onnx").write_bytes(b"")
    assert open_encoder(index, "onnx") is not None
    assert (made / "text.onnx").stat().st_size > 0


def test_an_export_of_another_program_is_replaced(
    index, cache, quick_export, monkeypatch
):
    open_encoder(index, "onnx")
    monkeypatch.setattr(encoders, "__version__", "another")
    before = kept(cache)
    open_encoder(index, "onnx")
    assert len(kept(cache)) == 1
    assert kept(cache) != before


def test_without_a_cache_it_works_too(index, tmp_path, quick_export, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path / "file" / "cache"))
    assert open_encoder(index, "onnx") is not None


@pytest.mark.slow
def test_what_cannot_be_exported_is_reported(index, tmp_path, cache):
    with pytest.raises(RunError, match="no trained method in"):
        encoders._export(tmp_path, tmp_path / "out")
    folder = shutil.copytree(index.store.path, tmp_path / "index")
    state = folder / "model" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1])
    with (
        Index.open(folder) as damaged,
        pytest.raises(DamagedIndex, match="its checksum does not match"),
    ):
        open_encoder(damaged, "onnx")
    assert not cache.exists() or not kept(cache)


SEARCH = """
import sys
from fdch.cli import cli

cli(["search", *sys.argv[1:]], standalone_mode=False)
sys.exit("torch" in sys.modules)
"""

SERVE = """
import json, os, signal, sys, threading, time, urllib.error, urllib.request
from fdch.cli import cli

index, port, encoder = sys.argv[1:]

def request(path, body=None):
    url, kind = f"http://127.0.0.1:{port}{path}", {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, kind)) as reply:
        return json.load(reply)

def work():
    while True:
        try:
            request("/ready")
            break
        except OSError:
            time.sleep(0.05)
    print(json.dumps(request("/v1/search", b'{"text": "beach"}')), flush=True)
    request("/v1/index")
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=work, daemon=True).start()
words = ["serve", index, "--port", port, "--encoder", encoder, "--quiet"]
cli(words, standalone_mode=False)
sys.exit("torch" in sys.modules)
"""


def done(code, *words):
    """Run a program that ends with 1 if it has imported torch."""
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200)


@pytest.mark.parametrize(
    ("query", "encoder"),
    [
        (("--text", "beach"), "folder"),
        pytest.param(("--text", "beach"), "onnx", marks=pytest.mark.slow),
        pytest.param(("--id", "scene1"), "onnx", marks=pytest.mark.slow),
    ],
)
def test_searching_with_an_export_imports_no_torch(index, query, encoder):
    if encoder == "folder":
        encoder = index.store.path.parent / "onnx"
    words = (index.store.path, *query, "--json", "-k", 3, "--encoder")
    found = done(SEARCH, *words, encoder)
    assert found.returncode == 0, found.stderr
    kind, value = query
    search = getattr(Searcher(index), f"by_{kind.removeprefix('--')}")
    assert (
        json.loads(found.stdout)["results"] == search(value, k=3).to_json()["results"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["onnx", "folder"])
def test_serving_with_an_export_imports_no_torch(index, encoder):
    pytest.importorskip("uvicorn")
    [port] = free_ports(1)
    if encoder == "folder":
        encoder = index.store.path.parent / "onnx"
    found = done(SERVE, index.store.path, port, encoder)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout.splitlines()[-1])["results"]
