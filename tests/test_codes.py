import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fdch.codes import Codes, binarize, hamming_distances, weighted_distances
from fdch.errors import DataError

outputs = st.integers(1, 70).flatmap(
    lambda bits: arrays(
        np.float32, (4, bits), elements=st.floats(-2, 2, width=16, allow_nan=False)
    )
)


def test_zero_becomes_plus_one():
    assert binarize([[0.0, -0.0, -1.0]]).signs().tolist() == [[1, 1, -1]]


def test_nan_is_refused_with_its_row():
    with pytest.raises(DataError, match="row 1"):
        binarize([[1.0], [float("nan")]])


@given(outputs)
def test_packing_round_trips(values):
    codes = binarize(values)
    assert np.array_equal(codes.signs(), np.where(values >= 0, 1, -1))
    assert binarize(codes.signs()) == codes


@given(outputs)
def test_hamming_distance_is_a_metric(values):
    codes = binarize(values)
    d = hamming_distances(codes, codes).astype(int)
    assert (np.diag(d) == 0).all()
    assert np.array_equal(d, d.T)
    assert (d[0, 1] <= d[0] + d[:, 1]).all()


@given(outputs)
def test_distance_is_half_of_bits_minus_inner_product(values):
    codes = binarize(values)
    signs = codes.signs().astype(int)
    expected = (codes.bits - signs @ signs.T) // 2
    assert np.array_equal(hamming_distances(codes, codes), expected)


def test_lengths_that_differ_are_not_compared():
    with pytest.raises(DataError, match="8 and 9 bits"):
        hamming_distances(binarize(np.ones((1, 8))), binarize(np.ones((1, 9))))


def test_stray_padding_bits_are_refused():
    with pytest.raises(DataError, match="beyond"):
        Codes(np.array([[0xFF]], dtype=np.uint8), 7)


def test_rows_are_taken_and_joined():
    codes = binarize(np.eye(3) - 0.5)
    assert Codes.concatenate([codes[:1], codes[1:]]) == codes
    assert len(codes[0]) == 1


def test_words_are_padded_to_eight_bytes():
    words = binarize(np.ones((2, 70))).words()
    assert words.shape == (2, 2)
    assert np.bitwise_count(words).sum(axis=1).tolist() == [70, 70]


def test_outputs_of_one_size_are_weighted_as_the_hamming_distance():
    random = np.random.default_rng(0)
    outputs = random.choice([-0.3, 0.3], size=(5, 20))
    codes = binarize(random.normal(size=(7, 20)))
    expected = hamming_distances(binarize(outputs), codes)
    assert weighted_distances(outputs, codes) == pytest.approx(expected, abs=1e-4)
    zeros = weighted_distances(np.zeros((1, 20)), codes)
    plain = hamming_distances(binarize(np.zeros((1, 20))), codes)
    assert zeros == pytest.approx(plain, abs=1e-4)


def test_weights_are_the_sizes_of_the_outputs():
    outputs = np.random.default_rng(1).normal(size=(4, 9))
    codes = binarize(np.random.default_rng(2).normal(size=(6, 9)))
    differ = binarize(outputs).signs()[:, None] != codes.signs()[None]
    weights = np.abs(outputs) / np.abs(outputs).mean(axis=1, keepdims=True)
    expected = (differ * weights[:, None]).sum(axis=2)
    assert weighted_distances(outputs, codes) == pytest.approx(expected, abs=1e-4)
    for bits in (8, 10):
        with pytest.raises(DataError, match=rf"\(4, 9\) with codes of {bits} bits"):
            weighted_distances(outputs, binarize(np.ones((1, bits))))


def test_signs_of_any_program_are_packed():
    signs = np.random.default_rng(3).choice([-1, 1], (5, 11))
    assert (Codes.from_signs(signs).signs() == signs).all()
    assert Codes.from_signs(signs.astype(np.float32).tolist()) == binarize(signs)
    assert repr(Codes.from_signs(signs)) == "Codes(5 items, 11 bits)"


@pytest.mark.parametrize(
    ("signs", "message"),
    [
        ([1, -1], r"a row to each item; got int64 of shape \(2,\)"),
        ([[1, 0]], r"got 0\. np\.where\(codes > 0, 1, -1\) makes them"),
        ([[True, False]], "got False"),
        ([[0.5, 1]], "got 0.5"),
    ],
)
def test_what_is_no_sign_is_refused(signs, message):
    with pytest.raises(DataError, match=rf"-1 or \+1.*{message}"):
        Codes.from_signs(signs)


def test_codes_are_equal_bit_by_bit_and_of_one_length():
    codes = binarize([[1, 1, 1], [1, -1, 1]])
    assert codes[:1] != codes[1:]
    assert codes[:1] != binarize([[1, 1, 1, -1]])  # the same bytes
    assert codes[:1] == binarize([[2, 3, 4]])


@pytest.mark.parametrize(
    "packed",
    [
        np.zeros(2, np.uint8),
        np.zeros((1, 2, 1), np.uint8),
        np.zeros((1, 2), np.int8),
        np.zeros((1, 3), np.uint8),
    ],
)
def test_what_are_no_rows_of_bytes_are_no_codes(packed):
    with pytest.raises(DataError, match="rows of 2 bytes"):
        Codes(packed, 16)


@pytest.mark.parametrize("shape", [(2, 0), (3,), (1, 2, 3)])
def test_outputs_that_are_no_matrix_are_refused(shape):
    with pytest.raises(DataError, match="must be"):
        binarize(np.ones(shape))


def test_a_query_of_zeros_among_others_weighs_its_bits_alike():
    found = weighted_distances([[0, 0], [3, 1]], binarize([[1, -1], [-1, 1]]))
    assert found.tolist() == [[1.0, 1.0], [0.5, 1.5]]


@pytest.mark.parametrize("lengths", [(), (8, 9)])
def test_codes_of_no_length_or_several_are_not_joined(lengths):
    with pytest.raises(DataError, match="share one length"):
        Codes.concatenate(binarize(np.ones((1, bits))) for bits in lengths)


def test_codes_are_their_signs_where_numpy_expects_an_array():
    codes = binarize([[1.0, -1.0], [-1.0, 1.0]])
    assert np.asarray(codes).tolist() == [[1, -1], [-1, 1]]
    assert np.asarray(codes, dtype=np.float32).dtype == np.float32


def test_one_code_is_an_item():
    assert repr(binarize([[1.0]])) == "Codes(1 item, 1 bit)"
