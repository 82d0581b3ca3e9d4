"""Random numbers that belong to one purpose and leave no trace."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# threads share torch's generator: those that train take turns, epoch by epoch
_TURN = threading.RLock()


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return each purpose a seed of its own, the same on every machine."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest())


@contextmanager
def private_randomness(
    device: torch.device, seed: int, *purpose: str | int
) -> Iterator[None]:
    """Seed the CPU and a device inside a block, and leave no trace outside.

    One thread at a time is inside. Other accelerators are not even woken: each would
    take memory for it.
    """
    own = derive_seed(seed, *purpose)
    forked = [device] if device.type == "cuda" else []
    with _TURN, torch.random.fork_rng(forked, device_type="cuda"):
        torch.default_generator.manual_seed(own)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(own)
        elif device.type != "cpu":
            torch.manual_seed(own)  # of accelerators of other makers, all there are
        yield
