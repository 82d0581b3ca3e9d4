"""Exports whose checksums hold, whatever their files were made to say."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from tests.fuzz.tiny_runs import make_run, tiny_pairs

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from fdch.data.pictures.images import ImageFeatures
from fdch.errors import DamagedRun, FdchError
from fdch.export.graph import Graph
from fdch.export.model import MANIFEST, ExportedModel
from fdch.export.onnx_files import export_run

VALUES: list[object] = [None, [], {}, "x", -1, 2.5, 10**9, 10**30, float("inf")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    export_run(make_run(folder / "run", "seph_km"), folder / "onnx")
    return folder / "onnx"


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def read_manifest(folder):
    return json.loads((folder / MANIFEST).read_text())


def write_manifest(folder, facts):
    (folder / MANIFEST).write_text(json.dumps(facts))


def put_graph(folder, side, content):
    (folder / f"{side}.onnx").write_bytes(content)
    facts, digest = read_manifest(folder), hashlib.sha256(content).hexdigest()
    about = {"file": f"{side}.onnx", "bytes": len(content), "sha256": digest}
    write_manifest(folder, facts | {"sides": {**facts["sides"], side: about}})


def use(folder):
    exported, pairs = ExportedModel.open(folder), tiny_pairs(3)
    exported.encode_images(pairs.images)
    exported.encode_texts(pairs.texts)
    exported.encode_texts(pairs.texts[:0])


def places(facts, path=()):
    for name, value in facts.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from places(value, (*path, name))


def test_every_field_of_a_manifest_is_used_or_refused(copy):
    use(copy)
    facts = read_manifest(copy)
    for path in places(facts):
        for value in VALUES:
            changed = json.loads(json.dumps(facts))
            owner = changed
            for name in path[:-1]:
                owner = owner[name]
            owner[path[-1]] = value
            write_manifest(copy, changed)
            try:
                use(copy)
            except FdchError as problem:
                assert len(str(problem)) < 1500
            except Exception as problem:
                pytest.fail(f"{path} = {value!r}: {problem!r}")


@pytest.mark.parametrize("bits", [float("inf"), 0, -1, 2.0, True, 10**30, 40_000])
def test_bits_that_are_none_are_refused(copy, bits):
    write_manifest(copy, read_manifest(copy) | {"bits": bits})
    with pytest.raises(DamagedRun, match="its bits is"):
        ExportedModel.open(copy)


def test_pictures_beyond_memory_are_refused(copy):
    facts = read_manifest(copy)
    facts["image"] |= {"input": "pixels", "size": 10**6}
    write_manifest(copy, facts)
    with pytest.raises(DamagedRun, match="its size is 1000000, not from 1 to 4,096"):
        ExportedModel.open(copy)


@pytest.mark.parametrize("side", ["image", "text"])
def test_graphs_of_another_side_or_length_cannot_be_run(copy, side):
    own, other = ("text", "image") if side == "text" else ("image", "text")
    before = (copy / f"{own}.onnx").read_bytes()
    put_graph(copy, own, (copy / f"{other}.onnx").read_bytes())
    with pytest.raises(DamagedRun, match=rf"{side}\.onnx cannot be run"):
        use(copy)
    put_graph(copy, own, before)
    write_manifest(copy, read_manifest(copy) | {"bits": 5})
    with pytest.raises(DamagedRun, match=r"\.onnx cannot be run: it gives outputs"):
        use(copy)


@pytest.mark.parametrize("fails", [False, True])
def test_a_graph_that_fails_or_gives_more_rows_is_refused(copy, fails):
    graph = Graph("crafted")
    seen = graph.input("features", np.float32, ["rows", 4])
    row = graph.constant(np.zeros((1, 4)), np.float32)
    made = graph.add("Concat", seen, row, axis=0)
    made = graph.add("Add", made, seen) if fails else made
    put_graph(copy, "image", graph.finish(made, 4))
    exported = ExportedModel.open(copy)
    with pytest.raises(DamagedRun, match=r"image\.onnx cannot be run"):
        exported.encode_images(tiny_pairs(3).images)


def test_a_side_that_an_export_lacks_is_named(copy):
    facts = read_manifest(copy)
    write_manifest(copy, facts | {"sides": {"image": facts["sides"]["image"]}})
    exported = ExportedModel.open(copy)
    with pytest.raises(FdchError, match="has no codes of texts"):
        exported.encode_texts(["a dog"])
    pairs = tiny_pairs(2)
    assert isinstance(pairs.images, ImageFeatures)
    with pytest.raises(FdchError, match="has no unified codes"):
        exported.pair_outputs(pairs.images.values, exported.inputs.texts(pairs.texts))
