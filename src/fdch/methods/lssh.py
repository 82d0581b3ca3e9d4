"""LSSH: latent semantic sparse hashing.

Latent Semantic Sparse Hashing for Cross-Modal Similarity Search, Zhou, Ding and
Guo, SIGIR 2014.
Images become sparse codes S over a dictionary D, texts latent factors A over a basis
U; a link R leads from one to the other. Letters with items and atoms in rows:
X ≈ SD, T ≈ AU, A ≈ SR. S here are sparse codes, not similarities.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from fdch.data.pairs import PairedSet
from fdch.methods._base import About, Array, HashMethod
from fdch.methods._settings.checks import require_positive, require_share
from fdch.methods._settings.space import Range, SearchSpace
from fdch.progress import Update
from fdch.training.closed_form import Matrix
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.randomness import derive_seed
from fdch.training.saved_arrays import take
from fdch.training.shallow.sparse_coding import bounded_dictionary, sparse_codes


@dataclass
class LSSH(HashMethod):
    """Latent semantic sparse hashing.

    The default weights are those of a port that runs on features of a neural
    network, where they do clearly better; `preset=release` takes the authors' own.

    >>> LSSH(bits=32).atoms
    512

    Args:
        components: p, principal components of the image features kept.
        atoms: Atoms of the image dictionary.
        sparsity: ρ, between 0 and 1: the penalty on sparse codes, as a share of
            the one from which on they are zero.
        text_weight: μ, how much the factorisation of texts counts.
        link_weight: γ, how much the link between the sides counts.
        iterations: Rounds over all matrices.
        max_pairs: The most pairs to learn from; of more, so many are drawn.
    """

    components: int = 64
    atoms: int = 512
    sparsity: float = 0.5
    text_weight: float = 0.05
    link_weight: float = 0.2
    iterations: int = 20
    max_pairs: int = 10_000

    about: ClassVar[About] = About(
        paper="Latent Semantic Sparse Hashing for Cross-Modal Similarity Search, "
        "Zhou et al., SIGIR 2014",
        supervision="pairs only",
        unified=True,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "release": {"sparsity": 0.2, "text_weight": 0.5, "link_weight": 1.0}
    }
    search_space: ClassVar[SearchSpace] = {
        "sparsity": Range(0.1, 0.8),
        "text_weight": Range(0.01, 1.0, log=True),
        "link_weight": Range(0.05, 5.0, log=True),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        positive = "components atoms text_weight link_weight iterations max_pairs"
        require_positive(self, *positive.split())
        require_share(self, "sparsity")

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Return SR, the sparse codes of images under the link."""
        return self._link(images).astype(np.float32)

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return A of texts alone."""
        T = self._text.unit_rows(texts)
        return self._factors.latent(T, np.zeros(1)).astype(np.float32)

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Return A of pairs."""
        T = self._text.unit_rows(texts)
        return self._factors.latent(T, self._link(images)).astype(np.float32)

    def _link(self, images: Array) -> Matrix:
        X = self._image.unit_rows(images)
        return sparse_codes(X, self._factors.D, self.sparsity) @ self._factors.R

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        rng = np.random.default_rng(derive_seed(self.seed, "factors"))
        if len(pairs) > self.max_pairs:
            chosen = rng.choice(len(pairs), self.max_pairs, replace=False)
            pairs = pairs[np.sort(chosen)]
        images, texts = inputs.images(pairs.images, context), inputs.texts(pairs.texts)
        self._image = Preparation.of_images(
            images, self.components, derive_seed(self.seed, "components")
        )
        self._text = Preparation.of_texts(texts)
        X, T = self._image.unit_rows(images), self._text.unit_rows(texts)
        self._factors = self._draw(rng, X.shape[1], T.shape[1])
        S = sparse_codes(X, self._factors.D, self.sparsity)
        for done in range(1, self.iterations + 1):
            S = self._factors.improve(X, T, S, self.sparsity)
            used = {"atoms used": float((S != 0).sum(axis=1).mean())}
            context.progress(Update("factors", done, self.iterations, "round", used))

    def _draw(
        self, rng: np.random.Generator, components: int, words: int
    ) -> "SparseFactors":
        return SparseFactors(
            D=rng.standard_normal((self.atoms, components)),
            R=rng.standard_normal((self.atoms, self.bits)),
            U=rng.standard_normal((self.bits, words)),
            text_weight=self.text_weight,
            link_weight=self.link_weight,
        )

    def _state(self) -> dict[str, Array]:
        factors = {"D": self._factors.D, "R": self._factors.R, "U": self._factors.U}
        return factors | self._image.to_arrays("image") | self._text.to_arrays("text")

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        self._image = Preparation.from_arrays(state, "image", inputs.image_width)
        self._text = Preparation.from_arrays(state, "text", inputs.text_width)
        D = take(state, "D", None, self._image.width)
        R = take(state, "R", len(D), self.bits)
        U = take(state, "U", self.bits, self._text.width)
        self._factors = SparseFactors(D, R, U, self.text_weight, self.link_weight)
        self._factors.latent(np.zeros((1, U.shape[1])), np.zeros(1))  # can be solved


@dataclass(frozen=True)
class Preparation:
    """Rows centred, led onto principal components if any, and of length 1."""

    mean: Matrix  # training mean, (d,)
    basis: Matrix | None  # principal components, (d, p); None keeps all columns

    @classmethod
    def of_images(cls, images: Array, components: int, seed: int) -> Self:
        """Learn mean and components from training rows, (n, d)."""
        most = min(components, *images.shape)
        # of wide rows scikit-learn finds the leading components by random starts
        found = PCA(most, random_state=seed % 2**32).fit(images.astype(np.float64))
        return cls(found.mean_, np.ascontiguousarray(found.components_.T))

    @classmethod
    def of_texts(cls, texts: csr_array) -> Self:
        """Learn the mean of training rows, (n, d); all columns are kept."""
        return cls(np.asarray(texts.astype(np.float64).mean(axis=0)), None)

    @property
    def width(self) -> int:
        """Columns of what `unit_rows` gives."""
        return len(self.mean) if self.basis is None else self.basis.shape[1]

    def unit_rows(self, rows: NDArray[Any] | csr_array) -> Matrix:
        """Return rows of length 1; a row that is the mean stays zero."""
        dense = rows.toarray() if isinstance(rows, csr_array) else rows
        moved = dense - self.mean
        if self.basis is not None:
            moved = moved @ self.basis
        lengths = linalg.norm(moved, axis=1, keepdims=True)
        return moved / np.where(lengths > 0, lengths, 1)

    def to_arrays(self, name: str) -> dict[str, Matrix]:
        """Return mean and components under names of their own."""
        arrays = {f"{name}.mean": self.mean}
        return arrays if self.basis is None else arrays | {f"{name}.basis": self.basis}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], name: str, width: int) -> Self:
        """Take what `to_arrays` gave; arrays of another width are a ValueError."""
        key = f"{name}.basis"
        basis = take(arrays, key, width, None) if key in arrays else None
        return cls(take(arrays, f"{name}.mean", width), basis)


@dataclass
class SparseFactors:
    """The dictionary D, the link R and the basis U, improved in turn."""

    D: Matrix  # image dictionary, (atoms, p)
    R: Matrix  # link from sparse codes to latent factors, (atoms, bits)
    U: Matrix  # text basis, (bits, words)
    text_weight: float  # μ
    link_weight: float  # γ

    def improve(self, X: Matrix, T: Matrix, S: Matrix, sparsity: float) -> Matrix:
        """Go once through all five steps; return new sparse codes, (n, atoms).

        X are prepared images, (n, p), T prepared texts, (n, words), and S the sparse
        codes of the last round; the sparsity is ρ.
        """
        A = self.latent(T, S @ self.R)
        self.U = bounded_dictionary(A, T)
        # one lasso stands for both terms: [X, √γA] over the dictionary [D, √γR]
        root = np.sqrt(self.link_weight)
        S = sparse_codes(
            np.hstack([X, root * A]), np.hstack([self.D, root * self.R]), sparsity
        )
        self.D = bounded_dictionary(S, X)
        self.R = bounded_dictionary(S, A)
        return S

    def latent(self, T: Matrix, linked: Matrix) -> Matrix:
        """Return the best A: (TUᵀ + (γ/μ)SR)(UUᵀ + (γ/μ)I)⁻¹, (n, bits).

        T are prepared texts, (n, words); `linked` is SR, (n, bits), zero without an
        image.
        """
        share = self.link_weight / self.text_weight
        system = self.U @ self.U.T + share * np.eye(len(self.U))
        return linalg.solve(system, (T @ self.U.T + share * linked).T, assume_a="pos").T
