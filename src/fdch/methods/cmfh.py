"""CMFH: collective matrix factorisation hashing.

Collective Matrix Factorization Hashing for Multimodal Data, Ding, Guo and Zhou,
CVPR 2014.
One latent factor V explains both views, X ≈ VU, and is predicted from each, V ≈ XP.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.methods._base import About, Array, HashMethod, PairSum
from fdch.methods._settings.checks import (
    require_not_negative,
    require_positive,
    require_share,
)
from fdch.methods._settings.space import Range, SearchSpace
from fdch.progress import Update
from fdch.training.closed_form import LinearMap, Matrix, Ridge, centre
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.randomness import derive_seed


@dataclass
class CMFH(HashMethod):
    """Collective matrix factorisation hashing.

    >>> CMFH(bits=32).prediction_weight
    100.0

    Args:
        image_weight: λ, the share of the image side; the text side has the rest.
        prediction_weight: μ, how near V stays to what either side predicts.
        penalty_weight: γ, the penalty on all matrices.
        max_iterations: The most rounds over U, V and P.
        tolerance: Learning ends once a round lowers the objective by less than
            this share of it.
        start: Where P begins: "regressed", fitted to the random V; "release",
            uniform on [0, 1), as in the authors' code.
    """

    image_weight: float = 0.5
    prediction_weight: float = 100.0
    penalty_weight: float = 0.01
    max_iterations: int = 500
    tolerance: float = 1e-4
    # A departure: with P uniform every bit begins as nearly the same sum of all
    # features. Both starts end at the same objective, but "release" takes some
    # hundred rounds, and what it gives after 25 depends on the draw.
    start: Literal["regressed", "release"] = "regressed"

    about: ClassVar[About] = About(
        paper="Collective Matrix Factorization Hashing for Multimodal Data, "
        "Ding et al., CVPR 2014",
        supervision="pairs only",
        unified=True,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "release": {"start": "release", "max_iterations": 25, "tolerance": 0.0}
    }
    search_space: ClassVar[SearchSpace] = {
        "image_weight": Range(0.1, 0.9),
        "prediction_weight": Range(1.0, 1e4, log=True),
        "penalty_weight": Range(1e-4, 1.0, log=True),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "prediction_weight", "penalty_weight", "max_iterations")
        require_share(self, "image_weight")
        require_not_negative(self, "tolerance")

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Return (x - mean) P for images."""
        return self._maps["image"](images)

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return (x - mean) P for texts."""
        return self._maps["text"](texts)

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Return V of pairs, U and P fixed."""
        return self._maps["image_share"](images) + self._maps["text_share"](texts)

    @property
    def functions(self) -> Mapping[str, object]:
        """P of each side, and each side's share of V."""
        maps = self._maps
        pair = PairSum(maps["image_share"], maps["text_share"])
        return {"image": maps["image"], "text": maps["text"], "pair": pair}

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        image, image_mean = centre(inputs.images(pairs.images, context))
        text, text_mean = centre(inputs.texts(pairs.texts))
        found = self._factorize((image, text), context)
        shares = found.shares()
        # V of the training pairs has mean 0, as the views have: no threshold
        self._maps = {
            "image": LinearMap(found.P[0], image_mean),
            "text": LinearMap(found.P[1], text_mean),
            "image_share": LinearMap(shares[0], image_mean),
            "text_share": LinearMap(shares[1], text_mean),
        }

    def _factorize(
        self, views: tuple[Matrix, Matrix], context: Context
    ) -> "Factorization":
        rng = np.random.default_rng(derive_seed(self.seed, "factors"))
        weights = Weights(
            self.image_weight, self.prediction_weight, self.penalty_weight
        )
        found = Factorization(views, weights, rng.random((len(views[0]), self.bits)))
        if self.start == "release":
            found.P = [rng.random((X.shape[1], self.bits)) for X in views]
        last = np.inf
        for done in range(1, self.max_iterations + 1):
            found.improve()
            value = found.objective()
            context.progress(
                Update(
                    "factors",
                    done,
                    self.max_iterations,
                    "iteration",
                    {"objective": value},
                )
            )
            if last - value <= self.tolerance * value:
                break
            last = value
        return found

    def _state(self) -> dict[str, Array]:
        return {
            key: array
            for name, linear in self._maps.items()
            for key, array in linear.to_arrays(name).items()
        }

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        widths = {"image": inputs.image_width, "text": inputs.text_width}
        self._maps = {
            f"{side}{kind}": LinearMap.from_arrays(
                state, f"{side}{kind}", (width, self.bits)
            )
            for side, width in widths.items()
            for kind in ("", "_share")
        }


@dataclass(frozen=True)
class Weights:
    """The weights λ, μ and γ of the objective."""

    image: float
    prediction: float
    penalty: float

    @property
    def views(self) -> tuple[float, float]:
        """λ and 1 - λ."""
        return self.image, 1 - self.image


class Factorization:
    """One factor V of two views X, with bases U (X ≈ VU) and predictors P (V ≈ XP).

    The views are centred rows of both sides, (n, d1) and (n, d2). V, (n, bits), is
    where to start; P starts as its regression.
    """

    def __init__(
        self, views: tuple[Matrix, Matrix], weights: Weights, V: Matrix
    ) -> None:
        self.views, self.weights, self.V = views, weights, V
        ridge = weights.penalty / weights.prediction
        self._ridges = [Ridge(X, ridge) for X in views]
        self._squares = [float((X**2).sum()) for X in views]
        self._step_predictors()
        self._step_bases()

    def improve(self) -> None:
        """Solve for U, for V and for P in turn, the others fixed."""
        self._step_bases()
        self.V = sum(
            (X @ E for X, E in zip(self.views, self.shares(), strict=True)),
            start=np.zeros_like(self.V),
        )
        self._step_predictors()

    def shares(self) -> list[Matrix]:
        """Return E1 and E2, (d, bits): the best V for fixed U and P is X1E1 + X2E2."""
        mu, bits = self.weights.prediction, self.V.shape[1]
        system = (2 * mu + self.weights.penalty) * np.eye(bits)
        for weight, U in zip(self.weights.views, self.U, strict=True):
            system += weight * U @ U.T
        factor = linalg.cho_factor(system)
        return [
            linalg.cho_solve(factor, weight * U + mu * P.T).T
            for weight, U, P in zip(self.weights.views, self.U, self.P, strict=True)
        ]

    def objective(self) -> float:
        """Return the sum that every step lowers, right after a step for P.

        All but ‖X‖² comes from products no larger than (d, bits). Where P is the
        regression, μ‖V - XP‖² + γ‖P‖² is μ(‖V‖² - tr PᵀXᵀV).
        """
        mu, gamma = self.weights.prediction, self.weights.penalty
        gram = self.V.T @ self.V
        size = float(np.trace(gram))
        total = gamma * size
        for t, weight in enumerate(self.weights.views):
            U, P, products = self.U[t], self.P[t], self._products[t]
            misfit = self._squares[t] - 2 * _inner(U.T, products) + _inner(gram @ U, U)
            total += weight * misfit + gamma * _inner(U, U)
            total += mu * (size - _inner(P, products))
        return total

    def _step_bases(self) -> None:
        gram, identity = self.V.T @ self.V, np.eye(self.V.shape[1])
        self.U = [
            linalg.solve(
                gram + self.weights.penalty / weight * identity,
                products.T,
                assume_a="pos",
            )
            for weight, products in zip(self.weights.views, self._products, strict=True)
        ]

    def _step_predictors(self) -> None:
        # XᵀV serves the next step for U as well
        self._products = [X.T @ self.V for X in self.views]
        self.P = [
            ridge.weights(self.V, products)
            for ridge, products in zip(self._ridges, self._products, strict=True)
        ]


def _inner(A: Matrix, B: Matrix) -> float:
    return float(np.vdot(A, B))
