"""Floors: times that no version of the same work can beat on this hardware."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from fdch.networks.linear import multiply

SIDES = {"cuda": 8192}  # of the matrices that are multiplied
USUAL_SIDE = 1024
COPIED = {"cuda": 2**32}  # bytes
USUAL_COPIED = 2**27
TURNS = 5
# read and written of a weight by one step of Adam: gradient, weight, two moments
ADAM_BYTES = 28


class Ceilings(NamedTuple):
    """The highest rates that a device reaches."""

    float32: float  # operations a second of a large matrix product
    bfloat16: float  # the same in bfloat16
    bandwidth: float  # bytes a second, read and written, of a large copy

    def floor(self, operations: float, moved: float, precision: str) -> float:
        """Return the seconds that the larger of two costs takes at least."""
        rate = self.bfloat16 if precision == "bfloat16" else self.float32
        return max(operations / rate, moved / self.bandwidth)


def wait_for(device: torch.device) -> None:
    """Wait until a device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure_ceilings(device: torch.device) -> Ceilings:
    """Multiply two large matrices, and copy a large array."""
    side = SIDES.get(device.type, USUAL_SIDE)
    matrix = torch.randn(side, side, device=device)
    short = matrix.bfloat16()
    # on a processor not by `@`, which may be half as fast
    long_took = _fastest(lambda: multiply(matrix, matrix), device)
    short_took = _fastest(lambda: short @ short, device)
    copied = COPIED.get(device.type, USUAL_COPIED)
    source = torch.randint(256, (copied,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    took = _fastest(lambda: target.copy_(source), device)
    products = 2 * side**3
    return Ceilings(products / long_took, products / short_took, 2 * copied / took)


def _fastest(work: Callable[[], object], device: torch.device) -> float:
    found = []
    for _ in range(TURNS + 1):
        wait_for(device)
        start = perf_counter()
        work()
        wait_for(device)
        found.append(perf_counter() - start)
    return min(found[1:])


@torch.no_grad()
def count_operations(network: nn.Module, *inputs: Any) -> int:
    """Count the operations of one pass forward; one backward has twice as many."""
    with FlopCounterMode(display=False) as counter:
        network(*inputs)
    return int(counter.get_total_flops())


def count_weights(*networks: nn.Module) -> int:
    """Count the weights that learn."""
    return sum(each.numel() for network in networks for each in network.parameters())


def count_stages(
    networks: Mapping[str, nn.Module], images: Any, words: Any
) -> tuple[dict[str, int], dict[str, int]]:
    """Count the operations of FDCH's stages on some pairs, and their weights."""
    pair, image, text = (networks[role] for role in ("pair", "image", "text"))
    sides = count_operations(image, images) + count_operations(text, words)
    done = {"stage 1": count_operations(pair, images, words), "stage 2": sides}
    return done, {"stage 1": count_weights(pair), "stage 2": count_weights(image, text)}
