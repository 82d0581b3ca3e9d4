"""settings.toml: written and read again, and refused with a reason."""

import tomllib
from typing import Any

import pytest

from fdch import methods
from fdch.errors import MissingFile, NewerRun, SettingError
from fdch.methods._settings.assignments import configure
from fdch.tuning.settings_file import SettingsFile

FILE = SettingsFile(
    method="dch",
    bits=16,
    seed=3,
    settings={"bstep": "relaxed", "ridge": 1e-05, "iterations": 7},
    data={"name": 'a "b" \\ ü \x7f\n', "fingerprint": "f", "split": "s"},
    search={"score": 0.5, "trials": 3},
    remark="The defaults are kept.",
)
TEXT = 'format = 1\nmethod = "dch"\nbits = 16\nseed = 0\n'


def test_it_comes_back_as_it_was(tmp_path):
    path = tmp_path / "settings.toml"
    FILE.save(path)
    assert SettingsFile.read(path) == FILE
    assert tomllib.loads(path.read_text("utf-8"))["settings"] == FILE.settings


def test_settings_of_each_kind_configure_a_method(tmp_path):
    changed: dict[str, Any] = {"image_dropout": 0.2, "finetune": True, "batch_size": 7}
    file = SettingsFile("fdch", 32, 0, changed, {}, {})
    file.save(tmp_path / "settings.toml")
    read = SettingsFile.read(tmp_path / "settings.toml")
    made = configure(methods.load("fdch"), read.as_text(), bits=read.bits)
    assert repr(made) == repr(methods.load("fdch")(**changed, bits=32))


def test_without_changes_the_defaults_stand(tmp_path):
    (tmp_path / "s.toml").write_text(TEXT + "[settings]\n")
    assert SettingsFile.read(tmp_path / "s.toml").as_text() == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a settings file"),
        ("format = true", "is not a settings file"),
        ("format = [", "cannot be read"),
        ("\x00", "cannot be read"),
        ("format = 1", "the file has no 'method'"),
        (TEXT, "the file has no 'settings'"),
        (TEXT + "data = 3\n[settings]\n", "the file.data must be"),
        (TEXT + "[settings]\nrigde = 1.0\nw = 2", "did you mean 'ridge'.*setting 'w'"),
        (TEXT + "[settings]\nridge = -1.0", "these settings must be positive: ridge"),
        (TEXT + "[settings]\nridge = 'much'", "expected a number"),
        (TEXT + "[settings]\nridge = [1]", "no value to set: 'ridge'"),
        (TEXT + "[settings]\nridge = 1979-05-27", "no value to set: 'ridge'"),
        (TEXT.replace("dch", "dhc") + "[settings]", "unknown method 'dhc'.*'dch'"),
    ],
)
def test_wrong_files_are_refused_with_a_reason(tmp_path, text, message):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(SettingError, match=rf"(?s)s\.toml'.*{message}"):
        SettingsFile.read(tmp_path / "s.toml")


def test_a_missing_file_a_folder_and_a_huge_file_are_reported(tmp_path):
    with pytest.raises(MissingFile, match=r"no settings file '.*none\.toml'"):
        SettingsFile.read(tmp_path / "none.toml")
    with pytest.raises(SettingError, match="cannot be read"):
        SettingsFile.read(tmp_path)
    (tmp_path / "huge.toml").write_text("#" * (2**20 + 1))
    with pytest.raises(SettingError, match=r"over 1,048,576 bytes"):
        SettingsFile.read(tmp_path / "huge.toml")


def test_a_later_format_requires_an_upgrade(tmp_path):
    (tmp_path / "s.toml").write_text(TEXT.replace("format = 1", "format = 2"))
    with pytest.raises(NewerRun, match="Upgrade fdch"):
        SettingsFile.read(tmp_path / "s.toml")
