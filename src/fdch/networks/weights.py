"""The weights of networks as plain arrays, and back under checks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fdch.errors import DamagedRun

Arrays = Mapping[str, NDArray[Any]]


def weights_to_arrays(networks: Mapping[str, nn.Module]) -> dict[str, NDArray[Any]]:
    """Return the weights of networks by role and name, such as "image.output.bias"."""
    return {
        f"{role}.{name}": tensor.detach().cpu().numpy()
        for role, network in networks.items()
        for name, tensor in network.state_dict().items()
    }


def load_weights(
    networks: Mapping[str, nn.Module], arrays: Arrays, device: torch.device
) -> None:
    """Fill networks with what `weights_to_arrays` returned, by role and name.

    The networks are on the device "meta", without memory: sizes in a saved file may be
    anybody's, and are checked first.

    Raises:
        DamagedRun: The arrays do not fit the networks.
    """
    for role, network in networks.items():
        prefix = f"{role}."
        weights = {
            name.removeprefix(prefix): array
            for name, array in arrays.items()
            if name.startswith(prefix)
        }
        _require_fit(role, network, weights)
        fixed = _unsaved_buffers(network)
        network.to_empty(device=device)
        for name, buffer in fixed.items():
            network.get_buffer(name).copy_(buffer)
        network.load_state_dict(
            {k: torch.from_numpy(np.array(v)) for k, v in weights.items()}
        )


def _unsaved_buffers(network: nn.Module) -> dict[str, Tensor]:
    """Return what a network computes when it is made, such as numbers of positions."""
    saved = network.state_dict().keys()
    return {name: x for name, x in network.named_buffers() if name not in saved}


def _require_fit(role: str, network: nn.Module, weights: Arrays) -> None:
    expected = {
        name: f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
        for name, tensor in network.state_dict().items()
    }
    found = {name: f"{array.dtype} {array.shape}" for name, array in weights.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise DamagedRun(
                f"the saved state does not fit its settings: {role}.{name} is "
                f"{found.get(name, 'missing')}, expected {expected.get(name, 'none')}. "
                "Train the run again."
            )
