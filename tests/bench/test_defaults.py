"""Trials that inform a method's defaults, on pairs held out of the training part."""

import json

import numpy as np
import pytest
from tests.vector_model import FirstOutputs, give_vectors

from fdch import methods
from fdch.bench import defaults as ablation
from fdch.bench.defaults import Ablation, gain_table, load_trials
from fdch.errors import MissingFile, RunError, SettingError
from fdch.evaluation.tables import Spread
from fdch.methods._settings.assignments import configure
from fdch.methods.cmfh import CMFH
from fdch.training.context import PLAIN
from fdch.tuning.held_out import measure_held_out, score_held_out

TRIALS = {"defaults": {}, "strong ridge": {"ridge": "100.0"}}


@pytest.fixture
def measure(tmp_path, write_features, factor_pairs):
    """Compare trials of DCH on small data."""
    data = write_features(tmp_path / "features.npz", factor_pairs(200))

    def run(seeds=(0, 1)):
        compared = Ablation(tmp_path / "tried", TRIALS, "dch", 8, seeds)
        return compared.measure(str(data))

    return run


def scores(image_to_text, text_to_image):
    found = {"image_to_text": image_to_text, "text_to_image": text_to_image}
    measures = ("map", "precision_at_10", "ndcg_at_10", "partner_recall_at_10")
    cells = {
        k: {name: v / (i + 1) for i, name in enumerate(measures)}
        for k, v in found.items()
    }
    return {"modality": cells}


def test_every_trial_is_measured_once_for_every_seed(measure, tmp_path, monkeypatch):
    found = measure()
    assert {name: len(each) for name, each in found.items()} == {
        "defaults": 2,
        "strong ridge": 2,
    }
    files = list((tmp_path / "tried").glob("*.json"))
    assert len(files) == 4
    kept = json.loads(files[0].read_text())
    assert {"trial", "data", "task", "seconds", "scores"} == set(kept)

    monkeypatch.setattr(ablation, "measure_held_out", None)  # nothing is left to do
    assert measure() == found


def test_other_settings_score_otherwise(measure):
    found = measure(seeds=(0,))
    assert found["defaults"] != found["strong ridge"]


def test_the_measures_are_those_that_settings_are_chosen_by(factor_pairs):
    pairs = factor_pairs(80)
    method = CMFH(bits=5).fit(pairs[:60])
    found = measure_held_out(method, pairs[60:])
    cells = [cell for gallery in found.values() for cell in gallery.values()]
    assert [len(gallery) for gallery in found.values()] == [2, 2]
    expected = score_held_out(method, pairs[60:]).mean()
    means = [(cell["map"] + cell["precision_at_10"]) / 2 for cell in cells]
    assert sum(means) / len(means) == pytest.approx(expected)


def test_held_out_pairs_are_ordered_as_the_method_orders_them(
    monkeypatch, factor_pairs
):
    pairs = factor_pairs(90)
    method = CMFH(bits=16).fit(pairs[:60])
    held_out = pairs[60:]
    by_codes = measure_held_out(method, held_out)
    give_vectors(monkeypatch, CMFH)
    found = measure_held_out(method, held_out)["modality"]["image_to_text"]
    assert found != by_codes["modality"]["image_to_text"]

    images = method.inputs.images(held_out.images, PLAIN)
    texts = method.inputs.texts(held_out.texts)
    order = FirstOutputs(method)
    [part] = order.weigh_images(images).parts
    likeness = part.weights @ order.text_vectors(texts).T
    precisions, partners = [], []
    for row, scores_of_row in enumerate(likeness):
        ranked = [item for item in np.argsort(-scores_of_row, kind="stable")]
        partners.append(row in ranked[:10])
        others = [item for item in ranked if item != row]
        hits = [bool((held_out.labels[row] & held_out.labels[i]).any()) for i in others]
        if any(hits):
            precisions.append(np.mean(hits[:10]))
    assert found["precision_at_10"] == pytest.approx(np.mean(precisions))
    assert found["partner_recall_at_10"] == pytest.approx(np.mean(partners))


def test_trials_are_shown_as_gains_over_the_defaults():
    found = {
        "defaults": [scores(0.5, 0.7), scores(0.6, 0.8)],
        "other": [scores(0.6, 0.7), scores(0.6, 0.7)],
    }
    table = gain_table({"data": found})
    assert table.header == (
        "trial",
        "data modality mAP",
        "data modality P@10",
        "data modality NDCG@10",
        "data modality partner@10",
        "data unified mAP",
        "data unified P@10",
        "data unified NDCG@10",
    )
    defaults, other = table.rows
    assert isinstance(defaults[1], Spread) and isinstance(other[1], Spread)
    assert defaults[1].mean == pytest.approx(0.65)
    assert other[1].mean == pytest.approx(0.0)  # one seed gains .05, one loses it
    assert other[1].deviation == pytest.approx(0.0707, abs=1e-4)
    assert other[5] is None


@pytest.mark.parametrize("name", ["fdch", "fdch_plus"])
def test_the_trials_that_come_with_a_method_can_be_set(name):
    trials = load_trials(name)
    assert len(trials) > 5
    for trial, settings in trials.items():
        assert "," not in trial  # which divides the names of --only
        configure(methods.load(name), settings, bits=16, seed=0)


def test_trials_come_from_a_file_at_any_depth(tmp_path):
    path = tmp_path / "trials.toml"
    path.write_text('[group]\n"a b" = { ridge = 2, flag = true }\n[c]\nridge = 0.5\n')
    assert load_trials("dch", path) == {
        "defaults": {},
        "a b": {"ridge": "2", "flag": "true"},
        "c": {"ridge": "0.5"},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [("ridge = 2", "'ridge' is outside a trial"), ("[", "is not TOML")],
)
def test_what_is_no_trial_is_refused(tmp_path, text, message):
    path = tmp_path / "trials.toml"
    path.write_text(text)
    with pytest.raises(SettingError, match=message):
        load_trials("dch", path)


def test_a_damaged_measurement_is_made_again(measure, tmp_path):
    found = measure(seeds=(0,))
    for file in (tmp_path / "tried").glob("*.json"):
        file.write_text("{broken")
    assert measure(seeds=(0,)) == found


def test_wrong_settings_are_refused_before_any_work(tmp_path):
    compared = Ablation(tmp_path / "tried", {"wrong": {"ridg": "1"}}, "dch")
    with pytest.raises(SettingError, match="did you mean 'ridge'"):
        compared.measure("no such data")
    assert not (tmp_path / "tried").exists()


def test_a_method_without_a_search_space_is_compared(
    tmp_path, write_features, factor_pairs
):
    data = write_features(tmp_path / "features.npz", factor_pairs(200))
    Ablation(tmp_path / "tried", {"defaults": {}}, "scm_orth", 4, (0,)).measure(
        str(data)
    )
    assert len(list((tmp_path / "tried").glob("*.json"))) == 1


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(MissingFile, match=r"none\.toml' cannot be read"):
        load_trials("dch", tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(bytes([255, 254]))
    with pytest.raises(SettingError, match="is not TOML"):
        load_trials("dch", binary)
    with pytest.raises(RunError, match=r"binary\.toml' cannot be made"):
        Ablation(binary, {"defaults": {}}, "dch").measure("scenes:60")


def test_a_method_without_trials_needs_a_file():
    with pytest.raises(SettingError, match=r"no trials come with dch.*--trials"):
        load_trials("dch")
