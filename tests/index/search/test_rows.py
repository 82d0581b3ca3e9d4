"""Codes become rows of words and come back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import Codes, binarize
from fdch.errors import DataError
from fdch.index.search.rows import flat, row_codes, row_type, row_words


@given(st.integers(1, 512), st.integers(0, 9))
def test_rows_become_the_same_codes(bits, number):
    rng = np.random.default_rng(bits)
    codes = Codes(np.packbits(rng.random((number, bits)) < 0.5, axis=1), bits)
    rows = row_words(codes)
    assert row_codes(rows, bits) == codes
    assert rows.dtype == row_type(bits)
    assert rows.shape == ((number,) if bits <= 64 else (number, -(-bits // 64)))


def test_rows_keep_distances():
    codes = binarize(np.random.default_rng(0).normal(size=(2, 100)))
    rows = row_words(codes)
    differing = int(np.bitwise_count(rows[0] ^ rows[1]).sum())
    assert differing == int(np.sum(codes.signs()[0] != codes.signs()[1]))


@pytest.mark.parametrize(
    ("bits", "size"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 4), (33, 8), (512, 8)]
)
def test_the_narrowest_word_is_taken(bits, size):
    assert row_type(bits).itemsize == size


@pytest.mark.parametrize("bits", [0, 513])
def test_other_lengths_are_refused(bits):
    with pytest.raises(DataError, match=str(bits)):
        row_type(bits)


def test_misaligned_codes_become_aligned_rows():
    packed = np.zeros(81, dtype=np.uint8)[1:].reshape(10, 8)
    assert row_words(Codes(packed, 64)).flags.aligned


def test_flat_rows_cannot_be_written_to():
    line = flat(np.zeros((3, 2), dtype=np.uint64))
    assert line.shape == (6,)
    with pytest.raises(ValueError, match="read-only"):
        line[0] = 1
