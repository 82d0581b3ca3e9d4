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


def fit_label_map(Y: Tensor, F: Tensor) -> Tensor:
    """Give the W that minimises Eq. 8 with its ridge (Eq. 13 and 14).

    The paper multiplies the solution by β. With the ridge inside the weighted
    term β cancels, so it is left out here.

    Args:
        Y: Labels of all training items, (n, classes).
        F: Their outputs, (n, bits).

    Returns:
        W, (classes, bits).
    """
    gram = Y.T @ Y + torch.eye(Y.shape[1], dtype=Y.dtype, device=Y.device)
    factor = torch.linalg.cholesky(gram)
    return torch.cholesky_solve(Y.T @ F, factor)
