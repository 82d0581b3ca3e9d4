"""DCH: discrete cross-modal hashing.

Learning Discriminative Binary Codes for Large-scale Cross-modal Retrieval,
Xu, Shen, Yang, Shen and Li, IEEE Transactions on Image Processing, 2017.
Codes that a linear classifier separates by label, and that linear hash functions
of both modalities predict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.methods._base import About
from fdch.methods._settings.checks import require_not_negative, require_positive
from fdch.methods._settings.space import Range, SearchSpace
from fdch.methods._shallow import ShallowMethod
from fdch.progress import Update
from fdch.training.closed_form import LinearMap, Matrix, Ridge, centre, signs
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.randomness import derive_seed

MAX_SWEEPS = 10


@dataclass
class DCH(ShallowMethod):
    """Discrete cross-modal hashing.

    >>> DCH(bits=32).bstep
    'dcc'

    Args:
        bstep: How codes are found: "dcc", bit by bit, as in the paper; "relaxed",
            the sign of a least-squares solution, as in the authors' release.
        classifier_weight: λ, penalty on the classifier W.
        prediction_weight: μ, how much codes heed what the hash functions predict;
            used by "dcc" alone.
        ridge: δ, penalty on the hash functions P, and in the relaxed step.
        iterations: Rounds over codes, classifier and hash functions.
    """

    bstep: Literal["dcc", "relaxed"] = "dcc"
    classifier_weight: float = 1.0
    prediction_weight: float = 1e-5
    ridge: float = 0.01
    iterations: int = 5

    about: ClassVar[About] = About(
        paper="Learning Discriminative Binary Codes for Large-scale Cross-modal "
        "Retrieval, Xu et al., TIP 2017",
        supervision="labels",
        unified=False,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "release": {"bstep": "relaxed", "prediction_weight": 0.0}
    }
    search_space: ClassVar[SearchSpace] = {
        "ridge": Range(1e-4, 100.0, log=True),
        "classifier_weight": Range(0.01, 100.0, log=True),
        "prediction_weight": Range(1e-7, 0.1, log=True),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "classifier_weight", "ridge", "iterations")
        require_not_negative(self, "prediction_weight")

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        image = View.fit(inputs.images(pairs.images, context), self.ridge)
        text = View.fit(inputs.texts(pairs.texts), self.ridge)
        B = self._codes(pairs.labels, (image, text), context)
        self._hash = {"image": image.hash_function(B), "text": text.hash_function(B)}

    def _codes(
        self, labels: NDArray[np.uint8], views: tuple["View", ...], context: Context
    ) -> Matrix:
        """Learn B, (n, bits), from a random start."""
        Y = labels.astype(np.float64)
        rng = np.random.default_rng(derive_seed(self.seed, "codes"))
        B = signs(rng.standard_normal((len(Y), self.bits)))
        for done in range(1, self.iterations + 1):
            W = fit_classifier(B, Y, self.classifier_weight)
            if self.bstep == "relaxed":
                B = relaxed_codes(Y, W, self.ridge)
            else:
                predicted = sum(view.predict(B) for view in views)
                Q = Y @ W.T + self.prediction_weight * predicted
                B = coordinate_descent(B, Q, W)
            wrong = float(((Y - B @ W) ** 2).mean())
            context.progress(
                Update("codes", done, self.iterations, "round", {"label error": wrong})
            )
        return B


class View(NamedTuple):
    """One modality of the training pairs: its mean, and its rows factored."""

    mean: Matrix
    ridge: Ridge

    @classmethod
    def fit(cls, rows: NDArray[Any] | csr_array, ridge: float) -> "View":
        """Centre and factor the rows, (n, d)."""
        X, mean = centre(rows)
        return cls(mean, Ridge(X, ridge))

    def predict(self, B: Matrix) -> Matrix:
        """Return XP with the best P for codes B, (n, bits)."""
        return B - self.ridge.residuals(B)

    def hash_function(self, B: Matrix) -> LinearMap:
        """Return the P-step, (XᵀX + δI)⁻¹XᵀB."""
        return LinearMap(self.ridge.weights(B), self.mean)


def fit_classifier(B: Matrix, Y: Matrix, weight: float) -> Matrix:
    """Return the W-step, (BᵀB + λI)⁻¹BᵀY, (bits, classes)."""
    return Ridge(B, weight).weights(Y)


def relaxed_codes(Y: Matrix, W: Matrix, ridge: float) -> Matrix:
    """Return the release's B-step, sgn(YWᵀ(WWᵀ + δI)⁻¹), (n, bits)."""
    return signs(Ridge(W.T, ridge).weights(Y.T).T)


def coordinate_descent(
    B: Matrix, Q: Matrix, W: Matrix, sweeps: int = MAX_SWEEPS
) -> Matrix:
    """Return the paper's B-step: each bit in turn, the others fixed, until stable.

    Args:
        B: Codes to start from, (n, bits).
        Q: YWᵀ + μΣXP, (n, bits).
        W: Classifier, (bits, classes).
        sweeps: The most rounds over the bits.

    Returns:
        Codes of lower or equal ‖Y - BW‖² + μΣ‖B - XP‖², (n, bits).
    """
    B = B.copy()
    shared = W @ W.T
    for _ in range(sweeps):
        before = B.copy()
        for bit in range(B.shape[1]):
            others = B @ shared[:, bit] - B[:, bit] * shared[bit, bit]
            B[:, bit] = signs(Q[:, bit] - others)
        if np.array_equal(B, before):
            break
    return B
