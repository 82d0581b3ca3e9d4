"""A model's fingerprint: what it distinguishes, and that it is made only once."""

import json
from dataclasses import asdict, replace

import pytest

from fdch.errors import ModelMismatch
from fdch.methods.scm_seq import SCMSeq
from fdch.methods.seph_km import SePHkm
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher
from fdch.runs.run import open_run, save_run
from fdch.runs.run_files import DESCRIPTION

OF_OLD = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def pairs(factor_pairs):
    return factor_pairs(60)


@pytest.fixture(scope="module")
def method(pairs):
    return SCMSeq(bits=8).fit(pairs)


@pytest.fixture
def run_of_old(method, tmp_path):
    """A run whose fingerprint was made otherwise than it is today."""
    folder = tmp_path / "run"
    save_run(folder, method)
    facts = json.loads((folder / DESCRIPTION).read_text())
    (folder / DESCRIPTION).write_text(json.dumps(facts | {"fingerprint": OF_OLD}))
    return open_run(folder)


def test_settings_of_encoding_distinguish_models(factor_pairs, tmp_path):
    pairs = factor_pairs(120, noise=2)
    plain = SePHkm(bits=8, anchors=20, schedule="B").fit(pairs)
    shifted = SePHkm(**(asdict(plain) | {"use_prior": True})).restore(plain.state())
    assert plain.encode_pairs(pairs) != shifted.encode_pairs(pairs)
    found = [
        save_run(tmp_path / str(made.use_prior), made).fingerprint
        for made in (plain, shifted)
    ]
    assert found[0] != found[1]


def test_weights_count_by_what_is_in_them(method, tmp_path):
    files = {"a.mat": b"one", "b.pth": b"one", "c.mat": b"two"}
    found = {}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        made = replace(method, image_weights=str(tmp_path / name))
        made.restore(method.state())
        folder = tmp_path / f"run of {name}"
        found[name] = save_run(folder, made).fingerprint
    bare = save_run(tmp_path / "bare", method).fingerprint
    assert found["a.mat"] == found["b.pth"]
    assert len({bare, *found.values()}) == 3


def test_an_opened_run_has_the_fingerprint_of_its_own_method(method, tmp_path):
    weights = tmp_path / "weights.mat"
    weights.write_bytes(b"weights")
    made = replace(method, image_weights=str(weights)).restore(method.state())
    run = save_run(tmp_path / "run", made)
    again = open_run(run.folder).method
    other = save_run(tmp_path / "other", again)
    assert other.fingerprint == run.fingerprint


def index_of(where, run, pairs):
    """An index of the run, made with its codes and opened again."""
    codes = run.method.encode_images(pairs.images)
    with Index.create(where, run) as made:
        made.add(pairs[:30])
        made.add_codes(list(pairs.ids[30:]), codes[30:], model=OF_OLD)
    return Index.open(where)


def test_a_fingerprint_of_old_stays_valid(run_of_old, pairs, tmp_path):
    with index_of(tmp_path / "codes.index", run_of_old, pairs) as index:
        assert index.fingerprint == index.model.fingerprint == OF_OLD
        assert Searcher(index).by_id(pairs.ids[3], k=1).results[0].distance == 0
        codes = run_of_old.method.encode_images(pairs.images)
        with pytest.raises(ModelMismatch, match=OF_OLD):
            index.add_codes(list(pairs.ids), codes, model="f" * 32)


def test_an_export_has_the_fingerprint_of_old(run_of_old, pairs, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from fdch.export.model import ExportedModel
    from fdch.export.onnx_files import export_run

    export_run(run_of_old, tmp_path / "onnx")
    encoder = ExportedModel.open(tmp_path / "onnx")
    assert encoder.fingerprint == OF_OLD
    with index_of(tmp_path / "codes.index", run_of_old, pairs) as index:
        vector = pairs.images[3].values[0]
        assert Searcher(index, encoder).by_image(vector, k=1).results


def test_a_server_keeps_the_fingerprint_of_old(run_of_old, pairs, milvus_url):
    with index_of(milvus_url, run_of_old, pairs) as index:
        assert index.fingerprint == index.model.fingerprint == OF_OLD
        assert Searcher(index).by_id(pairs.ids[3], k=1).results[0].distance == 0
