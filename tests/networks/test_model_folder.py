"""Model folders of transformers: features as the library computes them."""

import json
import shutil
import socket
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from fdch.errors import DataError, MissingExtra, MissingFile, SettingError
from fdch.networks.image import describe, load, load_frozen
from fdch.networks.towers import find_text_encoder

pytest.importorskip("transformers", reason="the extra transformers is not installed")

from tests.tiny_models import (
    SIZE,
    write_clip,
    write_dinov2,
    write_sentence_encoder,
    write_siglip,
)

TEXTS = ["a dog", "seven boats by the sea"]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "clip"
    return folder, write_clip(folder)


@pytest.fixture
def copy(clip, tmp_path):
    return shutil.copytree(clip[0], tmp_path / "copy")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Fail where anything connects."""

    def refuse(*_):
        raise AssertionError("something connects to a server")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def name(folder):
    return f"transformers:{folder}"


def pixels(items=3):
    return np.random.default_rng(0).integers(0, 256, (items, SIZE, SIZE, 3), np.uint8)


def prepare(folder, values):
    """Give what the folder's own image processor makes of pictures."""
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
    pictures = [Image.fromarray(value) for value in values]
    return processor(pictures, return_tensors="pt")["pixel_values"]


def features(folder, values):
    with torch.no_grad():
        return load_frozen(name(folder))(torch.from_numpy(values)).numpy()


def test_clip_gives_the_image_features_of_its_library(clip):
    folder, model = clip
    with torch.no_grad():
        seen = prepare(folder, pixels())
        expected = model.get_image_features(pixel_values=seen).pooler_output
    np.testing.assert_allclose(features(folder, pixels()), expected, atol=1e-5)


def test_clip_gives_the_text_features_of_its_library(clip):
    from transformers import AutoTokenizer

    folder, model = clip
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = find_text_encoder(name(folder)).encode(TEXTS, "cpu")
    for text, row in zip(TEXTS, found, strict=True):
        with torch.no_grad():
            tokens = tokenizer(text, return_tensors="pt")
            expected = model.get_text_features(**tokens).pooler_output
        np.testing.assert_allclose(row, functional.normalize(expected)[0], atol=1e-5)


def test_texts_that_are_too_long_are_cut(clip):
    found = find_text_encoder(name(clip[0])).encode(["dog " * 90, "dog " * 99], "cpu")
    np.testing.assert_allclose(found[0], found[1])


def test_siglip_gives_the_features_of_its_library(tmp_path):
    model = write_siglip(tmp_path)
    with torch.no_grad():
        seen = prepare(tmp_path, pixels())
        images = model.get_image_features(pixel_values=seen).pooler_output
        # filled up to the longest text, which it learned with
        tokens = torch.tensor([[2, 3, 4, 0, 0, 0]])
        mask = torch.tensor([[1, 1, 1, 0, 0, 0]])
        texts = model.get_text_features(tokens, attention_mask=mask).pooler_output
    np.testing.assert_allclose(features(tmp_path, pixels()), images, atol=1e-5)
    found = find_text_encoder(name(tmp_path)).encode(["abc"], "cpu")
    np.testing.assert_allclose(found, functional.normalize(texts), atol=1e-5)


def test_dinov2_gives_the_class_token(tmp_path):
    model = write_dinov2(tmp_path)
    with torch.no_grad():
        expected = model(prepare(tmp_path, pixels())).last_hidden_state[:, 0]
    np.testing.assert_allclose(features(tmp_path, pixels()), expected, atol=1e-5)


@pytest.mark.parametrize("takes_first", [False, True])
def test_a_sentence_encoder_gives_the_mean_or_the_first_token(tmp_path, takes_first):
    model = write_sentence_encoder(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    pooling = {"pooling_mode_cls_token": takes_first}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    with torch.no_grad():
        states = model(torch.tensor([[2, 3, 4]])).last_hidden_state
    expected = states[:, 0] if takes_first else states.mean(dim=1)
    # the longer text has the shorter filled up
    found = find_text_encoder(name(tmp_path)).encode(["abc", "abcdef"], "cpu")
    np.testing.assert_allclose(found[:1], functional.normalize(expected), atol=1e-5)


def test_a_tower_has_no_weights_of_the_other(clip):
    network = load(name(clip[0]))
    assert not [key for key in network.state_dict() if "text" in key or "logit" in key]


def test_the_same_folder_elsewhere_is_the_same_network(clip, copy):
    folder = name(clip[0])
    assert load(folder).fingerprint == load(name(copy)).fingerprint
    encoders = [find_text_encoder(name(path)) for path in (clip[0], copy)]
    assert encoders[0].fingerprint == encoders[1].fingerprint


def test_other_weights_or_scaling_make_another_network(clip, copy):
    before = load(name(copy)).fingerprint
    path = copy / "preprocessor_config.json"
    path.write_text(path.read_text().replace("0.48145466", "0.5"))
    scaled = load(name(copy)).fingerprint
    write_clip(copy, seed=1)
    other = load(name(copy)).fingerprint
    assert len({before, scaled, other}) == 3
    encoders = [find_text_encoder(name(path)) for path in (clip[0], copy)]
    assert encoders[0].fingerprint != encoders[1].fingerprint


def test_missing_folders_and_files_are_named(tmp_path, copy):
    with pytest.raises(MissingFile, match=r"no model folder '.*nowhere'.*FDCH_MODELS"):
        describe(name(tmp_path / "nowhere"))
    config = (copy / "config.json").read_text()
    (copy / "config.json").write_text("{")
    with pytest.raises(DataError, match=r"cannot be used: config\.json"):
        describe(name(copy))
    (copy / "config.json").write_text(config)
    (copy / "preprocessor_config.json").unlink()
    with pytest.raises(DataError, match="does not say how it takes pictures"):
        describe(name(copy))


def test_a_folder_without_the_side_that_is_named_is_refused(tmp_path):
    write_dinov2(tmp_path / "images")
    with pytest.raises(DataError, match="takes no texts"):
        find_text_encoder(name(tmp_path / "images"))
    write_sentence_encoder(tmp_path / "texts")
    with pytest.raises(DataError, match="does not say how it takes pictures"):
        describe(name(tmp_path / "texts"))


@pytest.mark.parametrize(
    "change",
    [
        {"size": {"shortest_edge": 10**9}, "crop_size": None},
        {"rescale_factor": 1 / 127.5},
        {"image_mean": [0.5]},
        {"image_std": [0.0, 1.0, 1.0]},
        {"image_std": "none"},
    ],
)
def test_unfit_scaling_is_refused(copy, change):
    path = copy / "preprocessor_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataError, match="does not say how it takes pictures"):
        describe(name(copy))


def test_a_processor_file_of_both_sides_is_read(copy):
    path = copy / "preprocessor_config.json"
    before = describe(name(copy))
    both = {"image_processor": json.loads(path.read_text())}
    (copy / "processor_config.json").write_text(json.dumps(both))
    path.unlink()
    assert describe(name(copy)).size == before.size == SIZE


def test_weights_in_a_pickle_are_not_read(copy):
    weights = copy / "model.safetensors"
    torch.save({}, copy / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(MissingFile, match=r"no weights as \.safetensors"):
        describe(name(copy))


def test_damaged_and_incomplete_weights_are_refused(copy):
    from safetensors.torch import load_file, save_file

    weights = copy / "model.safetensors"
    tensors = load_file(weights)
    del tensors["visual_projection.weight"]
    save_file(tensors, weights, {"format": "pt"})
    with pytest.raises(DataError, match=r"lack 'visual_projection\.weight'"):
        load(name(copy))
    weights.write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot be used: weights"):
        load(name(copy))


def test_code_in_a_folder_or_on_a_server_is_not_run(clip, copy):
    path = copy / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "attn_implementation": "someone/kernel"}))
    np.testing.assert_array_equal(features(copy, pixels()), features(clip[0], pixels()))
    (copy / "own.py").write_text("raise SystemExit('code of the folder runs')")
    own = {"auto_map": {"AutoConfig": "own.Config"}, "model_type": "own"}
    path.write_text(json.dumps({**config, **own}))
    with pytest.raises(DataError, match=r"cannot be used: config\.json"):
        load(name(copy))


def test_a_folder_takes_no_weights_file(clip, tmp_path):
    with pytest.raises(SettingError, match="takes no weights file"):
        load(name(clip[0]), tmp_path)


def test_a_missing_package_names_the_extra(clip, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"fdch\[transformers\]"):
        describe(name(clip[0]))
