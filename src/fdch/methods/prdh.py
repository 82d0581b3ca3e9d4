"""PRDH: Pairwise Relationship Guided Deep Hashing (Yang et al., AAAI 2017).

DCMH with pairwise terms inside each modality too, and with bits that are kept
from varying together. The authors published no code; weights and divisors are
read from their equations. `preset=paper` states weights of 1 and DCMH's schedule, on
a frozen image network as there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fdch.methods._base import About
from fdch.methods._settings.space import Range, SearchSpace
from fdch.methods.dcmh import DCMH
from fdch.training.alternating import AlternatingWeights


@dataclass
class PRDH(DCMH):
    """Pairwise relationship guided deep hashing.

    >>> PRDH(bits=16, epochs=10).bits
    16

    Args:
        quantization_weight: γ, on the distance between outputs and codes.
        balance_weight: γ, on the summed outputs.
        intra_weight: Weight of the pairwise terms within a modality; 1 in the paper.
        decorrelation_weight: λ.
    """

    quantization_weight: float = 0.02
    intra_weight: float = 1.0
    decorrelation_weight: float = 0.01

    about: ClassVar[About] = About(
        paper="Pairwise Relationship Guided Deep Hashing for Cross-Modal Retrieval, "
        "Yang, Deng, Liu, Liu, Tao and Gao, AAAI 2017",
        supervision="labels",
        unified=False,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {**DCMH.presets["paper"], "decorrelation_weight": 1.0}
    }
    search_space: ClassVar[SearchSpace] = {
        **DCMH.search_space,
        "intra_weight": Range(0.1, 3.0, log=True),
        "decorrelation_weight": Range(1e-3, 0.1, log=True),
    }

    def _weights(self) -> AlternatingWeights:
        return AlternatingWeights(
            self.quantization_weight,
            self.balance_weight,
            self.intra_weight,
            self.decorrelation_weight,
        )
