"""Where networks run."""

import torch

from fdch.errors import SettingError


def resolve_device(name: str = "auto") -> torch.device:
    """Turn a name into a device of this machine, "auto" into the best there is.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        raise SettingError(
            f"device '{name}' cannot be used here: {str(problem).splitlines()[0]} "
            "Use --device auto or --device cpu."
        ) from problem
    return device
