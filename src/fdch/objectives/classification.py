"""Labels, mapped by W, regress the outputs."""

import torch
from torch import Tensor


def classification_loss(F: Tensor, Y: Tensor, W: Tensor) -> Tensor:
    """Sum the squared errors of outputs predicted from labels (Eq. 8).

    Args:
        F: Outputs, (b, bits).
        Y: Labels of the same items, (b, classes).
        W: Map from labels to outputs, (classes, bits).
    """
    return (F - Y @ W).square().sum()


def factor_labels(Y: Tensor) -> Tensor:
    """Return the Cholesky factor of YᵀY + I, (classes, classes), a constant."""
    gram = Y.T @ Y + torch.eye(Y.shape[1], dtype=Y.dtype, device=Y.device)
    return torch.linalg.cholesky(gram)


def fit_label_map(Y: Tensor, F: Tensor, factor: Tensor | None = None) -> Tensor:
    """Return the W that minimises Eq. 8 with its ridge (Eq. 13 and 14).

    The paper multiplies the solution by β. With the ridge inside the weighted
    term β cancels, so it is left out here.

    Args:
        Y: Labels of all training items, (n, classes).
        F: Their outputs, (n, bits).
        factor: What `factor_labels` gives of Y, where it is at hand already.

    Returns:
        W, (classes, bits).
    """
    return torch.cholesky_solve(Y.T @ F, factor_labels(Y) if factor is None else factor)
