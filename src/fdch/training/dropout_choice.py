"""How much of a side to drop while training, by what it says about the labels.

Where a side determines the labels, dropping parts of it only makes learning harder;
where it says little, dropout keeps a network from learning single pairs by heart.
The rule was chosen on validation pairs of four kinds of data: see docs/recipes.md.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


class Rule(NamedTuple):
    """Dropout is a bound less the explained share, between two limits."""

    bound: float
    least: float
    most: float

    def dropout(self, share: float) -> float:
        """Return the share to drop where inputs explain a share of the labels."""
        return float(np.clip(self.bound - share, self.least, self.most))


USUAL = Rule(0.8, 0.2, 0.5)
# hundreds of dense numbers for each text: easier to learn by heart than words
STATIC = Rule(0.9, 0.35, 0.7)
COMPARED_PAIRS = 1000
LONG_TEXT = 8.0  # words; longer texts are dropped from less
RIDGES = 10.0 ** np.arange(-2, 2, 0.5)  # relative to the mean eigenvalue
Floats = NDArray[np.float64]


def choose_image_dropout(features: NDArray[Any], labels: NDArray[np.uint8]) -> float:
    """Choose the share of image features to drop, (pairs, width); of pixels none.

    Labels are 0 or 1, (pairs, classes); all 0 where there are none.
    """
    if features.dtype == np.uint8:  # pixels say nothing by themselves
        return 0.0
    return _dense_dropout(features, labels, USUAL)


def choose_static_dropout(
    features: NDArray[np.float32], labels: NDArray[np.uint8]
) -> float:
    """Choose the share of static text features to drop, as of image features."""
    return _dense_dropout(features, labels, STATIC)


def choose_word_dropout(words: csr_array, labels: NDArray[np.uint8]) -> float:
    """Choose the share of words to drop, (pairs, words), by labels as for images."""
    rows = _some(words.shape[0])
    chosen = words[rows]
    dropout = USUAL.dropout(explained_share(chosen.toarray(), labels[rows]))
    length = chosen.nnz / len(rows)
    return max(USUAL.least, dropout * min(1.0, LONG_TEXT / max(length, 1.0)))


def explained_share(X: NDArray[np.floating], Y: NDArray[np.uint8]) -> float:
    """Return the share of the labels' variance that inputs predict for unseen rows.

    A ridge regression with each row left out in turn, in closed form, at the best of
    a few penalties. 0 where there is nothing to explain.

    >>> rng = np.random.default_rng(0)
    >>> Y = np.eye(2, dtype=np.uint8)[rng.integers(2, size=50)]
    >>> round(explained_share(Y + rng.normal(0, 0.01, Y.shape), Y), 1)
    1.0
    """
    centred, targets = _centre(X), _centre(Y)
    variance = float((targets**2).sum())
    eigenvalues, Q = np.linalg.eigh(centred @ centred.T)  # (n, n)
    scale = float(eigenvalues.clip(0).mean())
    if variance == 0 or scale == 0:
        return 0.0
    projected, squares = Q.T @ targets, Q**2
    errors = [
        _left_out_error(ridge * scale, eigenvalues.clip(0), Q, projected, squares)
        for ridge in RIDGES
    ]
    return max(0.0, 1 - min(errors) / variance)


def _left_out_error(
    penalty: float, eigenvalues: Floats, Q: Floats, projected: Floats, squares: Floats
) -> float:
    """Sum the squared errors of rows, each predicted from all others."""
    kept = penalty / (eigenvalues + penalty)  # what the regression leaves of each part
    residuals = Q @ (kept[:, None] * projected)
    # less a row's weight in its own prediction: by the regression, and by the mean
    others = squares @ kept - 1 / len(Q)
    return float(((residuals / others[:, None]) ** 2).sum())


def _centre(values: NDArray[Any]) -> Floats:
    return values - values.mean(axis=0, dtype=np.float64)


def _dense_dropout(
    features: NDArray[np.float32], labels: NDArray[np.uint8], rule: Rule
) -> float:
    rows = _some(len(features))
    values = features[rows].astype(np.float64)
    deviation = values.std(axis=0)
    values = values / np.where(deviation > 0, deviation, 1)
    return rule.dropout(explained_share(values, labels[rows]))


def _some(rows: int) -> NDArray[np.intp]:
    """Return at most 1,000 row numbers, evenly spaced."""
    return np.linspace(0, rows - 1, min(rows, COMPARED_PAIRS)).astype(np.intp)
