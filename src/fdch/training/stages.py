"""What stages of training tell about themselves."""

from torch import Tensor, nn

from fdch.objectives.quantization import binary


def output_figures(outputs: dict[str, Tensor]) -> dict[str, float]:
    """Give what tells early whether codes are healthy.

    Mean |output| near 0 means that the network has not started to move; a bit
    imbalance near 1 means that bits are constant.
    """
    figures = {}
    for name, values in outputs.items():
        figures[f"mean |{name}|"] = float(values.abs().mean())
        figures[f"imbalance {name}"] = float(binary(values).mean(dim=0).abs().mean())
    return figures


def network_tensors(**networks: nn.Module) -> dict[str, Tensor]:
    """Give the weights and buffers of networks by role and name, not copied."""
    return {
        f"{role}.{key}": tensor
        for role, network in networks.items()
        for key, tensor in network.state_dict(keep_vars=True).items()
    }
