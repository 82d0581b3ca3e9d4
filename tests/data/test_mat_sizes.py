"""MATLAB files that are empty, or hold more pairs or labels than are read."""

import numpy as np
import pytest
from scipy import io

from fdch.data.readers import dcmh_mat
from fdch.errors import DataError


def saved(folder, **changes):
    path = folder / "pairs.mat"
    arrays = {"XAll": np.ones((5, 2)), "YAll": np.ones((5, 3)), "LAll": np.ones((5, 4))}
    io.savemat(path, arrays | changes)
    return path


@pytest.mark.parametrize("name", ["XAll", "YAll", "LAll"])
@pytest.mark.parametrize("shape", [(5, 0), (0, 5)])
def test_an_empty_variable_is_named(tmp_path, name, shape):
    path = saved(tmp_path, **{name: np.ones(shape)})
    message = f"'{name}' {shape[0]} x {shape[1]} is empty. Save it with"
    with pytest.raises(DataError, match=message):
        dcmh_mat.read(str(path))


@pytest.mark.parametrize(("limit", "most"), [("MAX_ROWS", 4), ("MAX_LABELS", 3)])
def test_more_pairs_or_labels_than_are_read_are_refused(
    tmp_path, monkeypatch, limit, most
):
    path = saved(tmp_path)
    assert len(dcmh_mat.read(str(path))) == 5
    monkeypatch.setattr(dcmh_mat, limit, most)
    with pytest.raises(DataError, match="5 pairs with 4 labels; at most"):
        dcmh_mat.read(str(path))
