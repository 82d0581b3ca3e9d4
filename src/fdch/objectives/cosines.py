"""Cosines between outputs, which losses that know no length compare."""

from torch import Tensor
from torch.nn import functional


def cosine_matrix(F: Tensor, G: Tensor) -> Tensor:
    """Return the cosines of all rows of F with all rows of G.

    Args:
        F: Outputs, (b, bits).
        G: Outputs, codes or proxies, (n, bits).

    Returns:
        Cosines, (b, n); 0 where a row is zero.
    """
    return functional.normalize(F) @ functional.normalize(G).T
