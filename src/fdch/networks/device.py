"""Where networks run when nobody says so."""

import torch


def best_device() -> torch.device:
    """Give the first GPU where there is one, else the processor."""
    return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
