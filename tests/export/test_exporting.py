"""Exported graphs give torch's codes, and a folder is opened under checks."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.page_blocks import read_blocks

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from fdch import methods
from fdch.codes import binarize
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureArray
from fdch.data.static_words import NAME, WIDTH, load_embeddings
from fdch.data.texts import Sentences
from fdch.errors import (
    DamagedRun,
    DataError,
    MissingExtra,
    NewerRun,
    RunError,
    SettingError,
)
from fdch.export.graph import Graph
from fdch.export.image_graphs import image_features
from fdch.export.model import ExportedModel
from fdch.export.onnx_files import export_run
from fdch.networks.backbones.cnnf import CNNF
from fdch.networks.image import load
from fdch.runs.encoding import real_outputs
from fdch.runs.pipeline import TrainingTask, train_run
from fdch.runs.run import open_run, save_run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "export.md"
NEAR_ZERO = 1e-4
QUICK = {"stage_one_epochs": "1", "stage_two_epochs": "1", "batch_size": "32"}
FAST = {"text_hidden": 32, "batch_size": 40}
EPOCHS = (
    "stage_one_epochs",
    "stage_two_epochs",
    "label_epochs",
    "pair_epochs",
    "epochs",
    "iterations",
)
CANNOT = ("lssh", "lcmh")


def assert_same_signs(found, expected):
    assert found.shape == expected.shape
    sure = abs(expected) > NEAR_ZERO
    assert ((found >= 0) == (expected >= 0))[sure].all()
    np.testing.assert_allclose(found, expected, atol=NEAR_ZERO)


def outputs(exported, pairs):
    images, texts = (
        exported.inputs.images(pairs.images),
        exported.inputs.texts(pairs.texts),
    )
    found = {
        "image": exported.image_outputs(images),
        "text": exported.text_outputs(texts),
    }
    if "pair" in exported.sides:
        found["pair"] = exported.pair_outputs(images, texts)
    return found


@pytest.fixture(scope="module")
def scenes_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(folder / "cache"))
        train_run(
            TrainingTask(
                "scenes:100",
                folder / "run",
                "fdch",
                bits=24,
                settings=QUICK | {"text_features": "words"},
            )
        )
    return open_run(folder / "run")


@pytest.fixture(scope="module")
def folder(scenes_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("exported") / "onnx"
    export_run(scenes_run, out)
    return out


@pytest.fixture(scope="module")
def exported(folder):
    return ExportedModel.open(folder)


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_codes_of_all_validation_scenes_are_those_of_torch(scenes_run, exported):
    pairs = PairedSet.read("scenes:100")
    parts = scenes_run.split().parts(pairs)
    for part in (parts.validation, parts.query):
        expected = real_outputs(scenes_run.method, part)
        found = outputs(exported, part)
        assert found.keys() == expected.keys() == {"image", "text", "pair"}
        for side in expected:
            assert_same_signs(found[side], expected[side])


def test_outputs_do_not_depend_on_the_batch(exported):
    texts = exported.inputs.texts(Sentences(["red", "a blue circle and a car", "red"]))
    together = exported.text_outputs(texts)
    alone = [exported.text_outputs(texts[[row]]) for row in range(3)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-6)


def test_long_texts_are_encoded_some_rows_at_a_time(exported, monkeypatch):
    monkeypatch.setattr("fdch.export.model.WORDS_AT_A_TIME", 4)
    sentences = ["red", "blue circle", "a red car and a blue circle", "car", "red car"]
    texts = exported.inputs.texts(Sentences(sentences))
    alone = [exported.text_outputs(texts[[row]]) for row in range(len(sentences))]
    np.testing.assert_allclose(
        exported.text_outputs(texts), np.concatenate(alone), atol=1e-6
    )


def test_nothing_is_encoded_to_nothing(exported):
    assert exported.text_outputs(exported.inputs.texts(Sentences([]))).shape == (0, 24)
    assert exported.image_outputs(np.zeros((0, 224, 224, 3), np.uint8)).shape == (0, 24)


def test_a_fine_tuned_network_is_exported_with_its_weights(tmp_path):
    settings = {**QUICK, "finetune": "true", "image_network": "small"}
    run = train_run(TrainingTask("scenes:80", tmp_path / "run", "fdch", bits=8,
                                 settings=settings))  # fmt: skip
    export_run(run, tmp_path / "onnx")
    pairs = PairedSet.read("scenes:80")[:12]
    expected = real_outputs(run.method, pairs)
    found = outputs(ExportedModel.open(tmp_path / "onnx"), pairs)
    for side in expected:
        assert_same_signs(found[side], expected[side])


@pytest.mark.parametrize("name", [n for n in methods.names() if n not in CANNOT])
def test_every_other_method_is_exported(name, factor_pairs, tmp_path):
    kind = methods.load(name)
    known = kind.__dataclass_fields__
    settings: dict[str, Any] = {k: v for k, v in FAST.items() if k in known}
    settings |= {key: 2 for key in EPOCHS if key in known}
    pairs = factor_pairs(120)
    method = kind(bits=8, **settings).fit(pairs)
    run = save_run(tmp_path / "run", method)
    export_run(run, tmp_path / "onnx")
    expected = real_outputs(method, pairs)
    found = outputs(ExportedModel.open(tmp_path / "onnx"), pairs)
    assert found.keys() == expected.keys()
    for side in expected:
        assert_same_signs(found[side], expected[side])


@pytest.mark.parametrize("name", ["fdch", "scm_seq", "imh", "seph_km"])
def test_static_features_are_part_of_an_export(name, theme_pairs, tmp_path):
    kind = methods.load(name)
    known = kind.__dataclass_fields__
    settings: dict[str, Any] = {k: v for k, v in FAST.items() if k in known}
    settings |= {key: 2 for key in EPOCHS if key in known}
    method = kind(bits=8, text_features="words+static", **settings).fit(theme_pairs)
    run = save_run(tmp_path / "run", method)
    manifest = export_run(run, tmp_path / "onnx")
    assert manifest["text"]["static"] == NAME
    assert manifest["text"]["width"] == 15 + WIDTH
    exported = ExportedModel.open(tmp_path / "onnx")
    texts = ["wolf", "dog cat", "a train full of sheep by the river", "..."]
    some = replace(theme_pairs[:4], texts=Sentences(texts))
    expected, found = real_outputs(method, some), outputs(exported, some)
    assert found.keys() == expected.keys()
    for side in expected:
        assert_same_signs(found[side], expected[side])


def test_an_export_with_static_features_needs_their_extra(
    theme_pairs, tmp_path, monkeypatch
):
    method = methods.load("scm_seq")(bits=4, text_features="words+static")
    run = save_run(tmp_path / "run", method.fit(theme_pairs))
    export_run(run, tmp_path / "onnx")
    monkeypatch.setattr("fdch.data.static_words.PACKAGE", "no_such_package")
    load_embeddings.cache_clear()
    with pytest.raises(MissingExtra, match=r"fdch\[static\]"):
        ExportedModel.open(tmp_path / "onnx")


@pytest.mark.parametrize("name", CANNOT)
def test_methods_without_such_functions_are_refused(name, factor_pairs, tmp_path):
    quick: dict[str, Any] = {"atoms": 16, "iterations": 1} if name == "lssh" else {}
    method = methods.load(name)(bits=8, **quick).fit(factor_pairs(60))
    run = save_run(tmp_path / "run", method)
    with pytest.raises(SettingError, match=f"'{name}' cannot be exported"):
        export_run(run, tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_cnnf_gives_the_features_of_torch():
    import onnxruntime
    import torch

    torch.manual_seed(0)
    network = CNNF(widths=(4, 8, 8, 8, 8, 16, 12)).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    graph = Graph("cnnf")
    pixels = graph.input("pixels", np.uint8, ["rows", 224, 224, 3])
    content = graph.finish(image_features(graph, network, pixels), 12)
    seen = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)
    session = onnxruntime.InferenceSession(content)
    [found] = session.run(None, {"pixels": seen})
    with torch.no_grad():
        expected = network(torch.from_numpy(seen)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_larger_efficientnet_gives_the_features_of_torch():
    import onnxruntime
    import torch

    network = load("efficientnet_lite2")
    graph = Graph("lite2")
    pixels = graph.input("pixels", np.uint8, ["rows", 260, 260, 3])
    content = graph.finish(image_features(graph, network, pixels), 1280)
    seen = np.random.default_rng(0).integers(0, 256, (1, 260, 260, 3), dtype=np.uint8)
    [found] = onnxruntime.InferenceSession(content).run(None, {"pixels": seen})
    with torch.no_grad():
        expected = network(torch.from_numpy(seen)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_the_manifest_has_all_that_a_program_needs(folder, scenes_run):
    facts = json.loads((folder / "export.json").read_text())
    assert facts["model"] == scenes_run.fingerprint
    assert facts["bits"] == 24
    assert facts["image"]["size"] == 224
    words = scenes_run.method.inputs.vocabulary.words
    assert facts["text"]["words"] == list(words)
    assert {p.name for p in folder.iterdir()} == {
        "export.json", "image.onnx", "text.onnx", "pair.onnx",
    }  # fmt: skip


def test_encoding_needs_no_torch(folder):
    code = f"""
import sys
from typing import Any
sys.modules["torch"] = None
from fdch import ExportedModel
print(ExportedModel.open({str(folder)!r}).encode_texts(["red"]).bits)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.stdout == "24\n", found.stderr


def test_the_examples_of_the_page_give_one_code(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "exported")
    monkeypatch.chdir(tmp_path)
    blocks = [
        block.code
        for block in read_blocks(PAGE.read_text("utf-8"))
        if block.language == "python"
    ]
    made: list[dict[str, Any]] = [{} for _ in blocks]
    for code, names in zip(blocks, made, strict=True):
        exec(compile(code, PAGE.name, "exec"), names)
    with_fdch, without = made
    assert with_fdch["codes"].packed.tolist() == without["code"].tolist()


def test_exporting_twice_writes_the_same_bytes(scenes_run, folder, tmp_path):
    export_run(scenes_run, tmp_path / "again")
    for file in folder.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


def test_a_folder_with_files_is_left_alone(scenes_run, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match="not an empty folder"):
        export_run(scenes_run, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_a_changed_graph_is_refused(copy):
    content = bytearray((copy / "text.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (copy / "text.onnx").write_bytes(content)
    with pytest.raises(DamagedRun, match=r"text\.onnx has another checksum"):
        ExportedModel.open(copy)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"format": 99}, NewerRun, "format 99"),
        ({"format": "1"}, DamagedRun, "format"),
        ({"sides": {"../image": {}}}, DamagedRun, "unknown side"),
        ({"sides": [1]}, DamagedRun, "damaged"),
        ({"text": {"width": 3, "words": ["a"]}}, DamagedRun, "1 words"),
        ({"bits": None}, DamagedRun, "damaged"),
    ],
)
def test_a_malformed_manifest_is_refused(copy, change, kind, said):
    facts = json.loads((copy / "export.json").read_text())
    (copy / "export.json").write_text(json.dumps(facts | change))
    with pytest.raises(kind, match=said):
        ExportedModel.open(copy)


def test_a_missing_export_is_reported(copy, tmp_path):
    with pytest.raises(RunError, match="fdch export"):
        ExportedModel.open(tmp_path / "nothing")
    (copy / "image.onnx").unlink()
    with pytest.raises(DamagedRun, match=r"image\.onnx' is missing"):
        ExportedModel.open(copy)


def test_other_kinds_of_items_are_refused(exported, factor_pairs):
    ready = factor_pairs(3)
    with pytest.raises(DataError, match="efficientnet_lite0"):
        exported.inputs.images(ready.images)
    with pytest.raises(DataError, match="columns"):
        exported.inputs.texts(ready.texts)


def test_pictures_of_any_size_are_scaled(exported):
    pixels = exported.inputs.images(PictureArray(np.zeros((2, 9, 7, 3), np.uint8)))
    assert pixels.shape == (2, 224, 224, 3)
    codes = exported.encode_images(np.zeros((2, 9, 7, 3), np.uint8))
    assert codes == binarize(exported.image_outputs(pixels))
