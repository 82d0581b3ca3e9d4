"""Small data and small runs that the tests of commands share."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from tests.four_classes import write_features

from fdch.cli import cli
from fdch.data.pairs import PairedSet

TINY = (
    "text_features=words "  # so that a query can have no known word
    "stage_one_epochs=1 stage_two_epochs=1 text_hidden=16 fusion_width=16 "
    "fusion_hidden=16 batch_size=16"
)
TINY_OPTIONS = [
    *("--method", "fdch"),
    *(part for text in TINY.split() for part in ("--set", text)),
]


def run_command(*arguments):
    """Run a command; whatever is not our own error is raised."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def write_manifest(path, rows, columns=("id", "image", "text", "labels")):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="session")
def fdch():
    """Run a command by its words, as `fdch("train", data, "--out", run)`."""
    return run_command


@pytest.fixture(scope="session")
def tiny():
    """Options with which training takes no time."""
    return TINY_OPTIONS


@pytest.fixture(scope="session")
def features():
    """Write ready features to a file."""
    return write_features


@pytest.fixture(scope="session")
def manifest():
    """Write rows to a manifest."""
    return write_manifest


@pytest.fixture(autouse=True)
def own_cache(shared_cache, monkeypatch):
    """Let the tests of commands share one cache: features take seconds."""
    monkeypatch.setenv("FDCH_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def scenes():
    """Pictures in files, with texts and labels as rows of a manifest."""
    return PairedSet.read("scenes:60")


@pytest.fixture(scope="session")
def photo_rows(scenes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    rows = []
    for row, name in enumerate(scenes.ids):
        Image.fromarray(scenes.images.content(row)).save(folder / f"{name}.png")
        labels = np.array(scenes.label_names)[scenes.labels[row] == 1]
        rows.append(
            {
                "id": name,
                "image": str(folder / f"{name}.png"),
                "text": scenes.texts.values[row],
                "labels": ";".join(labels),
            }
        )
    return rows


@pytest.fixture(scope="session")
def on_features(shared_cache, tmp_path_factory):
    """A run trained on ready features, scored."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        folder = tmp_path_factory.mktemp("on_features")
        data = write_features(folder / "features.npz")
        trained = run_command(
            *("train", data, "--bits", 16, "--out", folder / "run", *TINY_OPTIONS)
        )
        assert trained.exit_code == 0, trained.stderr
        scored = run_command("evaluate", folder / "run")
        assert scored.exit_code == 0, scored.stderr
    return SimpleNamespace(
        data=data, run=folder / "run", trained=trained, scored=scored
    )


@pytest.fixture(scope="session")
def on_scenes(shared_cache, tmp_path_factory):
    """A run trained on generated pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        run = tmp_path_factory.mktemp("on_scenes") / "run"
        trained = run_command(
            *("train", "scenes:60", "--bits", 16, "--out", run, *TINY_OPTIONS)
        )
        assert trained.exit_code == 0, trained.stderr
    return SimpleNamespace(run=run, trained=trained)
