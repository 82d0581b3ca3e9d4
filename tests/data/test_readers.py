"""Naming data: files, known data sets, and what is neither."""

import sys
from types import ModuleType
from typing import Any

import pytest

from fdch.data.pairs import PairedSet
from fdch.data.pictures.decoding import PictureLimits
from fdch.data.readers.sources import locate
from fdch.errors import DataError, MissingFile, SettingError

KNOWN = (
    "readers.flickr25k",
    "readers.nuswide",
    "readers.dcmh_mat",
    "scenes.scene_pairs",
)


@pytest.fixture
def calls(monkeypatch):
    """Stand-ins for the readers of known data sets; their calls."""
    calls: list[tuple[str, str, str, PictureLimits]] = []
    for name in KNOWN:
        module = ModuleType(f"fdch.data.{name}")

        def read(argument, *, broken, limits, name=name):
            calls.append((name, argument, broken, limits))

        module.__dict__["read"] = read
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


@pytest.mark.parametrize(
    ("source", "reader", "argument"),
    [
        ("mirflickr25k:some/folder", "readers.flickr25k", "some/folder"),
        ("nuswide:C:\\data", "readers.nuswide", "C:\\data"),
        ("dcmh-mat:flickr.mat", "readers.dcmh_mat", "flickr.mat"),
        ("scenes", "scenes.scene_pairs", ""),
        ("scenes:500", "scenes.scene_pairs", "500"),
    ],
)
def test_a_prefix_chooses_the_reader(calls, source, reader, argument):
    limits = PictureLimits(bytes=5)
    PairedSet.read(source, broken="skip", limits=limits)
    assert calls == [(reader, argument, "skip", limits)]


def test_files_are_recognized_by_their_ending_in_any_case(tmp_path, calls):
    path = tmp_path / "PAIRS.CSV"
    path.write_text("id,text\n1,a\n")
    assert len(PairedSet.read(str(path))) == len(PairedSet.read(path)) == 1
    assert not calls


def test_an_unknown_ending_lists_what_is_understood(tmp_path):
    path = tmp_path / "pairs.doc"
    path.write_text("")
    with pytest.raises(DataError, match=r"'\.doc'.*pairs\.csv.*scenes:N"):
        PairedSet.read(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("pairs", "has no ending. Data is named as"), ("a.mat", "write dcmh-mat:.*a.mat")],
)
def test_a_file_of_an_unknown_ending_says_how_to_name_it(tmp_path, name, message):
    (tmp_path / name).write_text("")
    with pytest.raises(DataError, match=message):
        PairedSet.read(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("lost/pairs.csv", "no file 'lost/pairs.csv'; check the path"),
        ("mirflikr25k:folder", "did you mean 'mirflickr25k'"),
        ("scene", "did you mean 'scenes'"),
        ("nuswide", "write nuswide:PATH"),
        ("nuswide:", "write nuswide:PATH"),
        ("", "the name of the data is empty. Data is named as"),
    ],
)
def test_a_missing_file_says_what_may_have_been_meant(source, message):
    with pytest.raises(MissingFile, match=message):
        PairedSet.read(source)


def test_a_folder_without_pictures_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(DataError, match="folder without pictures"):
        PairedSet.read(tmp_path)


def test_broken_rows_are_refused_or_skipped_and_nothing_else(tmp_path):
    wrong: Any = "ignore"
    with pytest.raises(SettingError, match="'refuse' or 'skip'; got 'ignore'"):
        PairedSet.read(tmp_path / "pairs.csv", broken=wrong)


def test_data_is_named_so_that_it_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert locate("pairs.csv") == str(tmp_path / "pairs.csv")
    assert locate("dcmh-mat:a.mat") == f"dcmh-mat:{tmp_path / 'a.mat'}"
    assert locate("scenes") == "scenes"
    assert locate("/data/pairs.csv") == "/data/pairs.csv"


def test_a_limit_takes_the_same_pairs_each_time_in_their_order():
    whole = PairedSet.read("scenes:60")
    some, fewer = (PairedSet.read("scenes:60", limit=n) for n in (20, 10))
    rows = [whole.ids.tolist().index(name) for name in some.ids]
    assert rows == sorted(rows) != list(range(20))
    assert some.fingerprint == whole[rows].fingerprint
    assert some.fingerprint == PairedSet.read("scenes:60", limit=20).fingerprint
    assert set(fewer.ids) < set(some.ids)
    assert some.name == "scenes (20 of 60 pairs)"
    for limit in (60, 70):
        same = PairedSet.read("scenes:60", limit=limit)
        assert (same.fingerprint, same.name) == (whole.fingerprint, whole.name)
    with pytest.raises(SettingError, match="a limit is 1 pair or more; got 0"):
        PairedSet.read("scenes:60", limit=0)
