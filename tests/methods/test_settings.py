"""Settings, as text or in Python, checked against a method's own fields."""

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_type_hints

import numpy as np
import pytest

from fdch import methods
from fdch.errors import DataError, SettingError
from fdch.methods._base import HashMethod
from fdch.methods._settings.assignments import (
    configure,
    parse_assignments,
    setting_names,
)
from fdch.methods._settings.checks import find_mismatch
from fdch.methods._settings.descriptions import setting_descriptions


@dataclass
class Toy(HashMethod):
    """A method with one setting of each kind."""

    epochs: int = 3
    weight: float = 0.5
    fast: bool = False
    solver: Literal["newton", "gradient"] = "newton"

    presets: ClassVar = {"paper": {"epochs": 500, "weight": 1.0}}

    def image_outputs(self, images):
        raise NotImplementedError

    def text_outputs(self, texts):
        raise NotImplementedError

    def _learn(self, inputs, pairs, validation, context):
        raise NotImplementedError

    def _state(self):
        raise NotImplementedError

    def _load_state(self, inputs, state, context):
        raise NotImplementedError


def test_each_kind_of_setting_is_read_from_text():
    made = configure(
        Toy, {"epochs": "7", "weight": "1e-3", "fast": "Yes", "solver": "gradient"}
    )
    same = Toy(epochs=7, weight=1e-3, fast=True, solver="gradient")
    assert asdict(made) == asdict(same)


def test_without_settings_the_defaults_stand():
    assert repr(configure(Toy, {}, bits=16, seed=3)) == "Toy(bits=16, seed=3)"


def test_a_preset_lies_under_the_other_settings():
    made = configure(Toy, {"preset": "paper", "weight": "0.2"}, bits=16)
    assert repr(made) == repr(Toy(bits=16, epochs=500, weight=0.2))


def test_a_setting_in_text_wins_over_a_given_one():
    assert configure(Toy, {"bits": "32"}, bits=16).bits == 32


def test_every_problem_is_reported_at_once():
    wrong = {
        "epoch": "3",
        "weight": "heavy",
        "epochs": "2.5",
        "fast": "perhaps",
        "solver": "guess",
        "zzz": "1",
        "preset": "papers",
    }
    with pytest.raises(SettingError) as caught:
        configure(Toy, wrong)
    message = str(caught.value)
    for part in (
        "unknown setting 'epoch'; did you mean 'epochs'?",
        "weight=heavy: expected a number.",
        "epochs=2.5: expected a whole number",
        "fast=perhaps: expected true or false",
        "solver=guess: expected one of newton, gradient",
        "unknown setting 'zzz'; there are: bits, seed",
        "unknown preset 'papers'; did you mean 'paper'?",
    ):
        assert part in message


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
def test_numbers_must_be_finite(value):
    with pytest.raises(SettingError, match="expected a number"):
        configure(Toy, {"weight": value})


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        ("0", "must be positive; got 0"),
        ("-8", "must be positive; got -8"),
        ("32768", "must be at most 32,767.*got 32,768"),
    ],
)
def test_bits_must_be_positive_and_few_enough_to_score(bits, message):
    with pytest.raises(SettingError, match=f"bits {message}"):
        configure(Toy, {"bits": bits})


@pytest.mark.parametrize("text", ["batch_size", "=3", " =3", ""])
def test_a_setting_has_a_name_and_a_value(text):
    with pytest.raises(SettingError, match=f"written key=value; got '{text}'"):
        parse_assignments(["a=1", text])


def test_assignments_are_split_at_the_first_sign():
    parsed = parse_assignments(["a = 1", "image_weights=x=y", "a=2"])
    assert parsed == {"a": "2", "image_weights": "x=y"}


def test_texts_that_are_no_assignments_are_all_named():
    with pytest.raises(SettingError, match=r"key=value; got 'epochs', 'weight 3'"):
        parse_assignments(["epochs", "bits=3", "weight 3"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solver": "guess"}, "setting solver='guess': expected one of newton, grad"),
        ({"bits": "16"}, "setting bits='16': expected a whole number"),
        ({"bits": 16.5}, r"setting bits=16\.5: expected a whole number"),
        ({"bits": None}, "setting bits=None: expected a whole number"),
        ({"bits": True}, "setting bits=True: expected a whole number"),
        ({"epochs": 10**20}, "setting epochs=1.*: expected a whole number up to 9,22"),
        ({"seed": -1}, "seed must be 0 or more; got -1"),
        ({"weight": "0.5"}, "setting weight='0.5': expected a number"),
        ({"weight": float("nan")}, "setting weight=nan: .* and a finite one"),
        ({"fast": "no"}, "setting fast='no': expected true or false"),
        ({"image_network": None}, "setting image_network=None: expected a text"),
        (
            {"epochs": "3", "fast": 1},
            r"epochs='3': .*number\. setting fast=1: exp",
        ),
    ],
)
def test_settings_in_python_are_refused_when_they_are_set(given, message):
    with pytest.raises(SettingError, match=message):
        Toy(**given)


def test_numbers_of_numpy_are_numbers():
    numbers: Any = {"bits": np.int64(16), "weight": np.float32(0.5)}
    toy = Toy(**numbers)
    toy.check()
    assert json.dumps([toy.bits, toy.weight]) == "[16, 0.5]"
    Toy(weight=1).check()


@pytest.mark.parametrize("given", ["pairs.csv", None])
def test_only_pairs_are_learned_from(given):
    with pytest.raises(DataError, match=r"give a PairedSet; got .*PairedSet\.read"):
        Toy().fit(given)


def test_fixed_settings_of_a_variant_are_not_offered():
    variant = methods.load("fdch_i")
    assert "label_weight" not in setting_names(variant)
    with pytest.raises(SettingError, match="unknown setting 'label_weight'"):
        configure(variant, {"label_weight": "1"})


PRESETS = [
    (name, preset) for name in methods.names() for preset in methods.load(name).presets
]


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_every_preset_of_every_method_can_be_made(name, preset):
    method = methods.load(name)
    made = configure(method, {"preset": preset})
    values = method.presets[preset]
    kept = {key: values[key] for key in values if key in setting_names(method)}
    assert kept
    assert {key: getattr(made, key) for key in kept} == kept


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_no_preset_refuses_ready_features(name, preset):
    values = methods.load(name).presets[preset]
    assert not {"finetune", "image_network", "image_weights"} & set(values)


@pytest.mark.parametrize("name", methods.names())
def test_every_default_can_be_written_as_text(name):
    method = methods.load(name)
    values = {key: getattr(method(), key) for key in setting_names(method)}
    texts = {k: "auto" if x is None else str(x) for k, x in values.items()}
    assert asdict(configure(method, texts)) == asdict(method())


@pytest.mark.parametrize("name", methods.names())
def test_docstrings_offer_auto_where_settings_take_it(name):
    method = methods.load(name)
    types = get_type_hints(method)
    for setting, meaning in setting_descriptions(method).items():
        if '"auto"' in meaning:
            assert not find_mismatch("auto", types[setting]), setting


def test_an_unknown_method_is_named_with_the_nearest():
    with pytest.raises(SettingError, match=r"'fdhc'; did you mean 'fdch'\? There are"):
        methods.load("fdhc")
    with pytest.raises(SettingError, match=r"'zzzzzz'\. There are: .*fdch"):
        methods.load("zzzzzz")


def test_private_files_are_no_methods():
    assert "fdch" in methods.names()
    assert not [name for name in methods.names() if name.startswith("_")]
    with pytest.raises(SettingError, match="unknown method '_base'"):
        methods.load("_base")


def test_none_leaves_a_number_to_the_data_in_python():
    method: Any = methods.load("fdch")
    assert method(stage_one_epochs=None).stage_one_epochs is None
    with pytest.raises(SettingError, match="'auto': expected a whole number, or None"):
        method(stage_one_epochs="auto")


def test_auto_leaves_a_setting_to_the_data():
    made = configure(methods.load("fdch"), {"image_dropout": "auto", "batch_size": "9"})
    assert asdict(made)["image_dropout"] is None
    with pytest.raises(SettingError, match="=much: expected a number, or auto"):
        configure(methods.load("fdch"), {"image_dropout": "much"})
    with pytest.raises(SettingError, match="batch_size=auto: expected a whole number"):
        configure(methods.load("fdch"), {"batch_size": "auto"})
