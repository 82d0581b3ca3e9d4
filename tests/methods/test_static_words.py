"""Static features of texts in whole runs: what they find, what they need."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fdch.data import static_words
from fdch.data.static_words import NAME, load_embeddings
from fdch.data.texts import Sentences
from fdch.errors import DamagedRun, MissingExtra, SettingError
from fdch.files import checksum
from fdch.methods.dcmh import DCMH
from fdch.methods.fdch import FDCH
from fdch.progress import Update
from fdch.runs.preparation import require_ready
from fdch.runs.run import open_run, save_run
from fdch.runs.run_files import DESCRIPTION, STATE
from fdch.training.checkpoints import Checkpoints
from fdch.training.context import PLAIN, Context

pytest.importorskip("tokenizers")

UNKNOWN = ("animal", "vehicle", "sea")  # one of each theme, in no training text
SMALL: dict[str, Any] = {
    "text_features": "words+static",
    "text_hidden": 64,
    "batch_size": 30,
}


@pytest.fixture(scope="module")
def fitted(theme_pairs):
    return DCMH(bits=16, epochs=30, **SMALL).fit(theme_pairs)


@pytest.fixture
def run(fitted, tmp_path):
    return save_run(tmp_path / "run", fitted)


@pytest.fixture
def not_installed(monkeypatch):
    monkeypatch.setattr(static_words, "PACKAGE", "no_such_package")
    load_embeddings.cache_clear()
    yield
    load_embeddings.cache_clear()


def test_unknown_words_find_the_images_of_their_theme(fitted, theme_pairs):
    queries = fitted.encode_texts(Sentences(list(UNKNOWN))).signs()
    images = fitted.encode_images(theme_pairs.images).signs()
    nearest = np.argsort(-(queries @ images.T), axis=1, kind="stable")[:, :10]
    for theme, rows in enumerate(nearest):
        assert theme_pairs.labels[rows, theme].all(), UNKNOWN[theme]


def test_a_run_names_the_embeddings_that_it_needs(run):
    facts = json.loads((run.folder / DESCRIPTION).read_text())
    assert facts["settings"]["text_features"] == "words+static"
    assert facts["versions"]["wordllama"]
    saved = json.loads(load_file(run.folder / STATE)["inputs"].tobytes())
    assert saved["static"] == NAME


def test_a_run_of_words_alone_names_none(theme_pairs, tmp_path):
    settings: dict[str, Any] = {"bits": 4, "epochs": 1, "text_hidden": 8}
    method = DCMH(**settings, text_features="words").fit(theme_pairs)
    run = save_run(tmp_path / "run", method)
    assert "wordllama" not in run.facts["versions"]


def test_opening_a_run_without_the_extra_says_what_to_install(run, not_installed):
    with pytest.raises(MissingExtra, match=r"pip install 'fdch\[static\]'"):
        open_run(run.folder)


def test_training_without_the_extra_says_so_before_any_work(theme_pairs, not_installed):
    method = DCMH(bits=4, text_features="words+static")
    with pytest.raises(MissingExtra, match=r"'words\+static'.*fdch\[static\]"):
        require_ready(method, PLAIN)
    with pytest.raises(MissingExtra, match=r"fdch\[static\]"):
        method.fit(theme_pairs)


def test_embeddings_that_are_not_known_are_refused(run):
    state = load_file(run.folder / STATE)
    text = state["inputs"].tobytes().decode().replace(NAME, "others")
    state["inputs"] = np.frombuffer(text.encode(), dtype=np.uint8)
    save_file(state, run.folder / STATE)
    facts = json.loads((run.folder / DESCRIPTION).read_text())
    facts["files"][STATE] = checksum(run.folder / STATE)
    (run.folder / DESCRIPTION).write_text(json.dumps(facts))
    with pytest.raises(DamagedRun, match="unknown static embeddings 'others'"):
        open_run(run.folder)


def test_other_values_of_the_setting_are_refused(theme_pairs):
    near = r"unknown text_features 'statics'; did you mean 'words\+static'\?"
    with pytest.raises(SettingError, match=near):
        DCMH(bits=4, epochs=1, text_features="statics").fit(theme_pairs)


def test_interrupted_training_goes_on_to_the_same_codes(theme_pairs, tmp_path):
    settings: dict[str, Any] = {
        **SMALL,
        "bits": 8,
        "fusion_width": 8,
        "fusion_hidden": 8,
        "stage_one_epochs": 3,
        "stage_two_epochs": 3,
    }
    whole = FDCH(**settings).fit(theme_pairs)

    class Interrupted(Exception):
        pass

    def stop(update: Update) -> None:
        if update.task.startswith("stage 2") and update.done == 2:
            raise Interrupted

    kept = Checkpoints(tmp_path, "task", seconds=0.0)
    with pytest.raises(Interrupted):
        FDCH(**settings).fit(theme_pairs, context=Context(stop, checkpoints=kept))
    again = FDCH(**settings).fit(theme_pairs, context=replace(PLAIN, checkpoints=kept))
    for name, array in whole.state().items():
        assert np.array_equal(array, again.state()[name]), name


def test_auto_takes_what_is_installed_and_says_so(theme_pairs):
    settings: dict[str, Any] = {"bits": 4, "epochs": 1, "text_hidden": 8}
    found = DCMH(**settings).fit(theme_pairs)
    assert found.chosen["text_features"] == "words+static"
    assert found.inputs.static_width > 0


def test_auto_does_without_what_is_not_installed(theme_pairs, not_installed):
    settings: dict[str, Any] = {"bits": 4, "epochs": 1, "text_hidden": 8}
    found = DCMH(**settings).fit(theme_pairs)
    assert found.chosen["text_features"] == "words"
    assert found.inputs.static_width == 0


def test_auto_takes_ready_vectors_as_they_are(factor_pairs):
    settings: dict[str, Any] = {"bits": 4, "epochs": 1, "text_hidden": 8}
    found = DCMH(**settings).fit(factor_pairs(40))
    assert found.chosen["text_features"] == "words"
