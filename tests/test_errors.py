"""Our errors are also the built-in ones that users of other libraries expect."""

import pickle

import pytest

from fdch.data.pairs import PairedSet
from fdch.errors import (
    DataError,
    FdchError,
    LabelError,
    MissingExtra,
    MissingFile,
    MissingIndex,
    MissingPicture,
    MissingRow,
    MissingRun,
    NotFitted,
    SettingError,
)
from fdch.methods.dch import DCH
from fdch.runs.run import open_run


@pytest.mark.parametrize(
    ("error", "built_in"),
    [
        (DataError, ValueError),
        (LabelError, ValueError),
        (SettingError, ValueError),
        (NotFitted, ValueError),
        (MissingFile, FileNotFoundError),
        (MissingRow, IndexError),
        (MissingPicture, FileNotFoundError),
        (MissingRun, FileNotFoundError),
        (MissingIndex, FileNotFoundError),
        (MissingExtra, ImportError),
    ],
)
def test_errors_are_caught_as_ours_and_as_built_in_ones(error, built_in):
    assert issubclass(error, FdchError)
    assert issubclass(error, built_in)


def test_a_missing_file_keeps_its_message_and_can_be_pickled():
    problem = MissingFile("there is no file 'a.csv'; check the path.")
    assert str(problem) == "there is no file 'a.csv'; check the path."
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)


def test_reading_what_is_not_there_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        PairedSet.read(str(tmp_path / "nothing.csv"))
    pairs = PairedSet.from_arrays([tmp_path / "nothing.png"], ["a dog"])
    with pytest.raises(FileNotFoundError, match=r"nothing\.png': there is no such"):
        pairs.without_broken_pictures()
    with pytest.raises(FileNotFoundError, match="no trained method"):
        open_run(tmp_path / "nothing")


def test_encoding_before_fit_is_a_value_error():
    with pytest.raises(ValueError, match=r"Call fit\(pairs\) first"):
        DCH().encode_texts(["a dog"])
