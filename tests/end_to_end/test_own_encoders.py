"""Image networks, text encoders and methods of users: train, save, search, serve."""

import json
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from tests.installed_package import install
from tests.service.running import running

from fdch import Index, PairedSet, Searcher
from fdch.cli import cli
from fdch.errors import DataError, MissingFile, MissingPackage, SettingError
from fdch.networks import features
from fdch.runs.run import open_run
from fdch.runs.run_files import DESCRIPTION

BITS = 24  # as other tests have: its kernels are compiled
DATA = "scenes:60"
SIZES = ("--query-pairs", "6", "--train-pairs", "40", "--validation-pairs", "8")
QUICK = ("epochs=2", "text_hidden=16", "image_hidden=0", "batch_size=20")


def run_command(*words):
    done = CliRunner().invoke(cli, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def train(out, method, network, *settings):
    given = [word for each in settings for word in ("--set", each)]
    run_command("train", DATA, "--method", method, "--bits", BITS, "--out", out,
                "--image-network", network, *SIZES, *given)  # fmt: skip
    return out


@pytest.fixture(autouse=True)
def forget_loaded():
    """Load networks again in each test: their folders move."""
    features._load_network.cache_clear()


@pytest.fixture(scope="module")
def clip(tmp_path_factory, shared_cache):
    """The folder of a tiny CLIP, and a run of both its towers, frozen."""
    pytest.importorskip("transformers", reason="the extra transformers is missing")
    from tests.tiny_models import write_clip

    place = tmp_path_factory.mktemp("clip")
    write_clip(place / "tiny-clip")
    name = f"transformers:{place / 'tiny-clip'}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        run = train(place / "run", "dcmh", name, *QUICK, f"text_features={name}")
    return SimpleNamespace(folder=place / "tiny-clip", name=name, run=run)


@pytest.fixture(scope="module")
def index(clip, shared_cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clip") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        run_command("index", "create", folder, "--run", clip.run, DATA)
    return folder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package for a test, and give its folder."""
    site = install(tmp_path / "site")
    monkeypatch.syspath_prepend(site)
    yield site
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def test_both_towers_are_named_by_the_run(clip):
    facts = json.loads((clip.run / DESCRIPTION).read_text())
    assert facts["packages"].keys() == {"transformers"}
    inputs = open_run(clip.run).method.inputs
    assert inputs.image_network == clip.name
    assert (inputs.image_width, inputs.static_width) == (12, 12)


def test_search_and_serve_work_on_an_index_of_towers(index):
    found = json.loads(run_command("search", index, "--text", "quokka", "--json"))
    assert len(found["results"]) == 10  # a word that no training text has
    with Index.open(index) as opened:
        pixels = np.zeros((32, 32, 3), np.uint8)
        assert len(Searcher(opened).by_image(pixels, k=3)) == 3
    with running(index) as service, service.client() as client:
        answer = client.by_text("quokka", k=10)
    ids = [result["id"] for result in found["results"]]
    assert [result.id for result in answer] == ids


def test_queries_are_not_kept_and_training_texts_are(clip, monkeypatch, tmp_path):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path))
    with Index.create(tmp_path / "index", open_run(clip.run)) as index:
        Searcher(index).by_text("a secret")
        assert not list(tmp_path.glob("results*"))
        index.method.encode_texts(["a dog"])
        assert list(tmp_path.glob("results*"))


def test_features_of_a_tower_are_computed_once(clip, monkeypatch):
    method, pairs = open_run(clip.run).method, PairedSet.read(DATA)
    codes = method.encode_images(pairs.images)
    monkeypatch.setattr(features.FeatureExtractor, "_start", None)
    assert method.encode_images(pairs.images) == codes


def test_a_missing_folder_is_named_and_may_lie_elsewhere(clip, tmp_path, monkeypatch):
    away = shutil.move(clip.folder, tmp_path / clip.folder.name)
    try:
        with pytest.raises(MissingFile, match=r"no model folder '.*/tiny-clip'"):
            open_run(clip.run)
        monkeypatch.setenv("FDCH_MODELS", str(tmp_path))
        assert len(open_run(clip.run).method.encode_texts(["a dog"])) == 1
    finally:
        shutil.move(away, clip.folder)


def test_another_model_in_the_folder_is_refused(clip, tmp_path, monkeypatch):
    from tests.tiny_models import write_clip

    run = train(tmp_path / "run", "dcmh", clip.name, *QUICK, "text_features=words")
    kept = shutil.copytree(clip.folder, tmp_path / "kept")
    try:
        write_clip(clip.folder, seed=1)
        with pytest.raises(DataError, match=r"text encoder .* is not the one"):
            open_run(clip.run)
        method = open_run(run).method
        features._load_network.cache_clear()
        with pytest.raises(DataError, match=r"image network .* is not the one"):
            method.encode_images(np.zeros((1, 32, 32, 3), np.uint8))
    finally:
        shutil.rmtree(clip.folder)
        shutil.move(kept, clip.folder)


def test_a_tower_can_be_tuned_and_opened_again(clip, tmp_path):
    from fdch.networks.image import load

    settings = (*QUICK, "finetune=true", "tuning_epochs=1", "text_features=words")
    run = open_run(train(tmp_path / "run", "dcmh", clip.name, *settings))
    learned = run.method.state()
    name = "image.network.module.model.visual_projection.weight"
    before = load(clip.name).state_dict()[name.removeprefix("image.network.")]
    assert not np.allclose(learned[name], before, atol=1e-6)
    images = PairedSet.read(DATA).images
    codes = run.method.encode_images(images)
    assert open_run(run.folder).method.encode_images(images) == codes


def test_towers_are_not_exported(clip):
    from fdch.export.onnx_files import graphs

    with pytest.raises(SettingError, match=r"the text encoder .* cannot be exported"):
        graphs(open_run(clip.run).method)


def test_a_package_adds_network_encoder_and_method(installed, tmp_path):
    run = train(tmp_path / "run", "own_dch", "colours", "text_features=themes")
    facts = json.loads((run / DESCRIPTION).read_text())
    assert facts["method"] == "own_dch"
    assert facts["packages"] == {"own-fdch": "1.5"}
    index = tmp_path / "index"
    run_command("index", "create", index, "--run", run, DATA)
    found = json.loads(run_command("search", index, "--text", "pony", "--json"))
    assert len(found["results"]) == 10
    listed = json.loads(run_command("methods", "own_dch", "--json"))
    assert listed["supervision"] == "labels"


def test_a_missing_package_is_named_by_run_and_index(installed, tmp_path, monkeypatch):
    run = train(tmp_path / "run", "own_dch", "colours", "text_features=themes")
    index = tmp_path / "index"
    run_command("index", "create", index, "--run", run)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(installed)])
    needs = r"needs the package 'own-fdch' \(it was made with version 1\.5\)"
    with pytest.raises(MissingPackage, match=needs):
        open_run(run)
    done = CliRunner().invoke(cli, ["search", str(index), "--text", "pony"])
    assert done.exit_code == 1
    assert "pip install own-fdch" in done.stderr


def test_a_network_of_a_package_can_be_tuned(installed, tmp_path):
    settings = (*QUICK, "finetune=true", "tuning_epochs=1", "text_features=words")
    run = open_run(train(tmp_path / "run", "dcmh", "colours", *settings))
    weights = run.method.state()["image.network.module.0.bias"]
    assert weights.any()  # zero before


def test_unknown_names_are_refused_before_training(tmp_path):
    for option, message in (
        ("image_network=colurs", "unknown image network 'colurs'"),
        ("text_features=themse", "unknown text_features 'themse'"),
        ("image_network=transformers:/gone", "no model folder '/gone'"),
        ("text_features=transformers:/gone", "no model folder '/gone'"),
    ):
        words = ["train", DATA, "--out", str(tmp_path / "run"), "--set", option]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 1
        assert message in done.stderr
