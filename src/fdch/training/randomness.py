"""Random numbers that belong to one purpose and leave no trace."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Give each purpose a seed of its own, the same on every machine."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest())


@contextmanager
def private_randomness(seed: int, *purpose: str | int) -> Iterator[None]:
    """Seed torch inside a block, and leave the state outside as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, *purpose))
        yield
