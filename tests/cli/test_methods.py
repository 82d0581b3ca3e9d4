"""The list of methods, read off the methods."""

import json
from dataclasses import dataclass

from fdch import methods
from fdch.cli.methods import describe
from fdch.methods._settings.assignments import configure, setting_names
from fdch.methods._settings.descriptions import setting_descriptions


def test_every_method_has_a_row(fdch):
    lines = fdch("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == methods.names()
    assert lines[-1] == "Settings of one: fdch methods NAME"


def test_a_methods_settings_are_listed_with_defaults_and_meaning(fdch):
    shown = fdch("methods", "fdch").stdout
    assert "Fusion-supervised Deep Cross-modal Hashing" in shown.splitlines()[0]
    for name in setting_names(methods.load("fdch")):
        assert f"\n{name} " in shown
    assert "Length of the codes." in shown
    assert "preset=paper: " in shown


def test_json_holds_the_same(fdch):
    listed = json.loads(fdch("methods", "--json").stdout)["methods"]
    assert [each["name"] for each in listed] == methods.names()
    one = json.loads(fdch("methods", "fdch", "--json").stdout)
    assert one == next(each for each in listed if each["name"] == "fdch")
    bits = next(each for each in one["settings"] if each["name"] == "bits")
    assert bits == {
        "name": "bits",
        "default": 64,
        "description": "Length of the codes.",
    }


def test_presets_are_reported_as_they_are_taken():
    for name in methods.names():
        method = methods.load(name)
        for preset, values in describe(method)["presets"].items():
            made = configure(method, {"preset": preset})
            assert {key: getattr(made, key) for key in values} == values, name
            assert set(values) <= set(setting_names(method)), name
    assert "label_weight" in describe(methods.load("fdch"))["presets"]["paper"]
    assert "label_weight" not in describe(methods.load("fdch_i"))["presets"]["paper"]


def test_every_setting_has_a_meaning():
    for name in methods.names():
        method = methods.load(name)
        assert set(setting_names(method)) <= set(setting_descriptions(method)), name


def test_an_unknown_method_is_refused_with_the_nearest(fdch):
    result = fdch("methods", "fdhc")
    assert result.exit_code == 1
    assert "did you mean 'fdch'?" in result.stderr


def test_meanings_are_read_over_several_lines_and_classes():
    @dataclass
    class Base:
        """First line.

        Args:
            bits: Length
                of codes.
            seed: A seed.

        Returns:
            nothing: at all.
        """

    class Derived(Base):
        """Another.

        Args:
            seed: Its own seed.
        """

    reported = setting_descriptions(Derived)
    assert reported == {"bits": "Length of codes.", "seed": "Its own seed."}
