"""Batches shared by processes so that they learn what one process alone learns.

Every process holds all training pairs, all weights and the outputs of all pairs, and
draws the same random numbers. It runs the networks on its share of a batch, takes the
other outputs from the other processes and computes the loss of the whole batch.
Gradients reach its own rows alone, so that the sum over processes is the gradient of
the batch, whatever the loss.
"""

import itertools
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from fdch.errors import FdchError
from fdch.networks.share import Share, current_share
from fdch.training.devices.processes import current_group
from fdch.training.randomness import derive_seed


def own_share(items: int) -> Share | None:
    """Choose this process's rows of a batch of so many; None for all.

    Of fewer items than there are processes each computes all, because not every network
    runs on nothing.
    """
    group = current_group()
    if group is None or items < group.count:
        return None
    begin, end = share_bounds(items, group.count)[group.rank :][:2]
    return Share(items, slice(begin, end))


def share_bounds(items: int, count: int) -> list[int]:
    """Return where each share of a batch begins, and the end.

    >>> share_bounds(11, 3)
    [0, 3, 7, 11]
    """
    return [items * rank // count for rank in range(count + 1)]


def gather_rows(outputs: Tensor) -> Tensor:
    """Complete a share's outputs, (rows, bits), to those of the whole batch, in order.

    Gradients reach this process's rows, multiplied by the number of processes, as
    `average_gradients` divides by it.
    """
    group, share = current_group(), current_share()
    if group is None or share is None:
        return outputs
    count = group.count
    outputs.register_hook(lambda gradient: gradient * count)  # type: ignore[no-untyped-call]
    bounds = share_bounds(share.items, count)
    sizes = [end - begin for begin, end in itertools.pairwise(bounds)]
    padded = functional.pad(outputs.detach(), (0, 0, 0, max(sizes) - len(outputs)))
    received = [torch.empty_like(padded) for _ in sizes]
    with group.translate_errors():
        dist.all_gather(received, padded)
    parts = [part[:size] for part, size in zip(received, sizes, strict=True)]
    parts[group.rank] = outputs
    return torch.cat(parts)


def average_gradients(optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Replace each gradient by its mean over all processes.

    Parameters of a loss have the same gradient in each, and keep it.
    """
    group = current_group()
    if group is None:
        return
    gradients = [
        weight.grad
        for optimizer in optimizers
        for settings in optimizer.param_groups
        for weight in settings["params"]
        if weight.grad is not None
    ]
    with group.translate_errors():
        for work in [dist.all_reduce(each, async_op=True) for each in gradients]:
            work.wait()
    for gradient in gradients:
        gradient /= group.count


def require_same_work(device: torch.device, *work: str | int) -> None:
    """Refuse to train where processes are about to do different work."""
    group = current_group()
    if group is None:
        return
    own = torch.tensor([derive_seed(0, *work)], device=device)
    found = [torch.empty_like(own) for _ in range(group.count)]
    with group.translate_errors():
        dist.all_gather(found, own)
    if len(set(torch.cat(found).tolist())) > 1:
        raise FdchError(
            "the processes of this training have different data, settings or "
            "checkpoints. Start all of them with the same command, and keep the data "
            "and the run in folders that all of them see."
        )
