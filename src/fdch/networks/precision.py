"""In which arithmetic an image network computes while it is trained."""

from typing import Literal

import torch

Precision = Literal["auto", "float32", "bfloat16"]


def choose_precision(precision: Precision, device: torch.device) -> Precision:
    """Choose "float32" or "bfloat16" where that is left open.

    >>> choose_precision("auto", torch.device("cpu"))
    'float32'
    """
    if precision != "auto":
        return precision
    return "bfloat16" if device.type == "cuda" else "float32"


def compute_in(precision: Precision, device: torch.device) -> torch.autocast:
    """Let layers compute in a precision inside a block; weights stay float32."""
    is_short = choose_precision(precision, device) == "bfloat16"
    return torch.autocast(device.type, torch.bfloat16, enabled=is_short)
