"""SePH_km: semantics-preserving hashing with anchors by k-means.

Semantics-Preserving Hashing for Cross-View Retrieval, Lin, Ding, Hu and Wang,
CVPR 2015; Cross-View Retrieval via Probability-Based Semantics-Preserving Hashing,
Lin, Ding, Han and Wang, IEEE Transactions on Cybernetics, 2017.
Codes of the training pairs match the likeness of their labels; kernel logistic
regressions then predict each bit from each modality.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.pairs import PairedSet
from fdch.errors import DataError
from fdch.methods._base import About, Array, PairSum
from fdch.methods._settings.checks import require_not_negative, require_positive
from fdch.methods._settings.space import Choice, Range, SearchSpace
from fdch.methods._shallow import SIDES, ShallowMethod
from fdch.progress import Update
from fdch.training.closed_form import signs
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.randomness import derive_seed
from fdch.training.saved_arrays import take
from fdch.training.shallow.affinities import (
    SCHEDULES,
    LabelAffinities,
    descend,
    descent_bytes,
)
from fdch.training.shallow.anchors import AnchorKernel, Matrix, Rows
from fdch.training.shallow.kernel_logistic import KernelHash, fit_logistic

GIGABYTE = 10**9


@dataclass
class SePHkm(ShallowMethod):
    """Semantics-preserving hashing with anchors by k-means.

    >>> SePHkm(bits=16, schedule="B").anchors
    500

    Args:
        schedule: How the training codes are found: "A", 1000 iterations, as in
            the authors' earlier release; "B", 100 larger ones, as in the later.
        binary_weight: α, pull of outputs towards -1 and +1.
        anchors: Centroids in each modality.
        kernel_weight: C, penalty on the weights of the logistic regressions.
        use_prior: Take off the log-odds of each bit in unified codes, which the
            derivation requires and the release leaves out.
        memory_limit: Gigabytes that the pairs of training items may take.
    """

    schedule: Literal["A", "B"] = "A"
    binary_weight: float = 0.01
    anchors: int = 500
    kernel_weight: float = 0.01
    use_prior: bool = False
    memory_limit: float = 4.0

    about: ClassVar[About] = About(
        paper="Semantics-Preserving Hashing for Cross-View Retrieval, Lin et al., "
        "CVPR 2015 (anchors by k-means)",
        supervision="labels",
        unified=True,
    )
    search_space: ClassVar[SearchSpace] = {
        "binary_weight": Range(1e-3, 1.0, log=True),
        "kernel_weight": Range(1e-4, 1.0, log=True),
        "use_prior": Choice((False, True)),
    }
    function: ClassVar = KernelHash

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "anchors", "kernel_weight", "memory_limit")
        require_not_negative(self, "binary_weight")

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Return the log-odds of each bit by both; the prior is in each of them."""
        outputs = self._hash["image"](images) + self._hash["text"](texts)
        if self.use_prior:
            outputs -= self._prior
        return outputs.astype(np.float32)

    @property
    def functions(self) -> Mapping[str, object]:
        """The hash function of each side, and their sum for pairs."""
        image, text = self._hash["image"], self._hash["text"]
        prior = self._prior if self.use_prior else 0.0
        return {"image": image, "text": text, "pair": PairSum(image, text, prior)}

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        self._require_memory(len(pairs))
        H = self._codes(pairs.labels, context)
        self._prior = log_odds(H)
        given: dict[str, Rows] = {
            "image": inputs.images(pairs.images, context),
            "text": inputs.texts(pairs.texts),
        }
        self._hash = {}
        for done, side in enumerate(SIDES, start=1):
            self._hash[side] = self._hash_function(given[side], H, side)
            context.progress(Update("hash functions", done, len(SIDES), "side"))

    def _require_memory(self, items: int) -> None:
        needed = descent_bytes(items) / GIGABYTE
        if needed > self.memory_limit:
            raise DataError(
                f"SePH_km compares all pairs of its {items:,} training items, which "
                f"takes {needed:.3g} GB; memory_limit allows {self.memory_limit:g}. "
                "Train on fewer items, or raise memory_limit."
            )

    def _codes(self, labels: NDArray[np.uint8], context: Context) -> Matrix:
        """Learn the codes of the training pairs, (n, bits)."""
        rng = np.random.default_rng(derive_seed(self.seed, "codes"))
        start = 1e-4 * rng.standard_normal((len(labels), self.bits))
        device = context.torch_device()
        found = descend(
            LabelAffinities(labels, device=device),
            torch.from_numpy(start).to(device, torch.float32),
            self.binary_weight / start.size,
            SCHEDULES[self.schedule],
            context.progress,
        )
        return signs(found.cpu().numpy().astype(np.float64))

    def _hash_function(self, X: Rows, H: Matrix, modality: str) -> KernelHash:
        seed = derive_seed(self.seed, modality, "anchors")
        kernel = AnchorKernel.fit(X, self.anchors, seed)
        W = fit_logistic(kernel(X), kernel(kernel.anchors), H, self.kernel_weight)
        return KernelHash(kernel, W)

    def _state(self) -> dict[str, Array]:
        return {"prior": self._prior, **super()._state()}

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        super()._load_state(inputs, state, context)
        self._prior = take(state, "prior", self.bits)


def log_odds(H: Matrix) -> Matrix:
    """Return log(π/(1 - π)) of each bit, π being its share of +1, (bits,).

    One item of either sign is added, so that a constant bit stays finite.
    """
    ones = (H > 0).sum(axis=0)
    return np.log(ones + 1) - np.log(len(H) - ones + 1)
