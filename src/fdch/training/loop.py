"""Epochs over batches, for any loss."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from fdch.errors import DamagedRun, FdchError
from fdch.networks._base import FeatureNetwork
from fdch.objectives.quantization import binary
from fdch.progress import Update
from fdch.training.context import Context
from fdch.training.devices.processes import is_first
from fdch.training.devices.shared_batches import require_same_work
from fdch.training.devices.steps import Loss, Step, keep_freed_memory
from fdch.training.devices.word_rows import update_rows
from fdch.training.randomness import private_randomness

Shape = Literal["log", "cosine"]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn."""

    epochs: int  # passes over the training pairs
    batch_size: int  # pairs in a batch
    learning_rate: float  # of the first epoch
    final_learning_rate: float  # of the last; between them its logarithm falls evenly
    weight_decay: float  # of all weights
    optimizer: Literal["adamw", "sgd"]  # "sgd" without momentum, as in the papers
    backbone_rate: float = 0.1  # share of the rate that an image network gets
    backbone_decay: float | None = None  # of its weights; None for that of all others
    # how the rate falls; "cosine" after half a rate in the first epoch
    shape: Shape = "log"

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch, counted from 0."""
        if self.shape == "cosine":
            warmth = 0.5 if epoch == 0 and self.epochs > 1 else 1.0
            fall = (1 + math.cos(math.pi * epoch / self.epochs)) / 2
            return self.learning_rate * warmth * fall
        share = epoch / max(self.epochs - 1, 1)
        ratio = self.final_learning_rate / self.learning_rate
        return float(self.learning_rate * ratio**share)

    def build_optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Make the optimizer of one network, its backbone in a group of its own."""
        slow = [
            parameter
            for module in network.modules()
            if isinstance(module, FeatureNetwork)
            for parameter in module.parameters()
        ]
        ids = {id(parameter) for parameter in slow}
        new = [p for p in network.parameters() if id(p) not in ids]
        groups: list[dict[str, Any]] = [
            {"params": new, "share": 1.0},
            {"params": slow, "share": self.backbone_rate},
        ]
        if self.backbone_decay is not None:
            groups[1]["weight_decay"] = self.backbone_decay
        kind = torch.optim.AdamW if self.optimizer == "adamw" else torch.optim.SGD
        optimizer = kind(
            [group for group in groups if group["params"]],
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            fused=True,  # one pass over the weights and their moments
        )
        for settings in optimizer.param_groups:
            weight = settings["params"][0]
            if weight.is_cuda:  # a graph reads the rate, and counts steps, there
                settings["lr"] = torch.tensor(self.learning_rate, device=weight.device)
                settings["capturable"] = True
        return optimizer


@dataclass(frozen=True)
class Sweep:
    """One pass over the pairs that teaches some networks by one loss."""

    networks: Sequence[nn.Module]  # what learns
    loss: Loss  # gives the loss of some rows, and its terms by name
    # gives the rows of each batch in turn, once its inputs are there
    deliver: Callable[[Sequence[Tensor]], Iterable[Tensor]] = lambda each: each


class Stage(Protocol):
    """What a stage of training gives to the loop."""

    name: str
    items: int
    stays_on_device: bool

    def sweeps(self) -> Sequence[Sweep]:
        """Return the passes of one epoch, in order."""
        ...

    def end_epoch(self) -> dict[str, float]:
        """Do the closed-form steps and give figures worth watching."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor that changes, weights included, by name."""
        ...


def train(stage: Stage, schedule: Schedule, seed: int, context: Context) -> None:
    """Run a stage from its checkpoint, or its beginning, to its end.

    Every epoch draws its random numbers from the seed, the stage's name and the
    epoch's number alone, so a resumed stage ends as an uninterrupted one would.
    """
    sweeps = stage.sweeps()
    optimizers = [
        [schedule.build_optimizer(network) for network in sweep.networks]
        for sweep in sweeps
    ]
    first = _resume(stage, optimizers, context)
    device, checkpoints = context.torch_device(), context.checkpoints
    task = checkpoints.task if checkpoints else ""
    require_same_work(device, task, stage.name, stage.items, first)
    steps = [
        Step(sweep.loss, group, stage.items, device, stage.stays_on_device)
        for sweep, group in zip(sweeps, optimizers, strict=True)
    ]
    with keep_freed_memory(device):
        for epoch in range(first, schedule.epochs):
            for optimizer in itertools.chain(*optimizers):
                _set_rate(optimizer, schedule.rate(epoch))
            with private_randomness(device, seed, stage.name, epoch):
                terms: dict[str, float] = {}
                for sweep, group, step in zip(sweeps, optimizers, steps, strict=True):
                    with update_rows(sweep.networks, group):
                        terms |= _run_sweep(
                            sweep, step, stage.items, schedule.batch_size, device
                        )
            terms |= stage.end_epoch()
            _require_finite(terms, stage.name, epoch)
            context.progress(
                Update(stage.name, epoch + 1, schedule.epochs, "epoch", terms)
            )
            is_due = epoch + 1 == schedule.epochs
            if checkpoints and is_first() and (is_due or checkpoints.due(stage.name)):
                checkpoints.save(
                    stage.name,
                    stage.tensors() | _optimizer_tensors(optimizers),
                    {"epoch": epoch + 1},
                )
            if context.judge is not None:
                context.judge(epoch + 1, schedule.epochs)


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for settings in optimizer.param_groups:
        value = rate * settings["share"]
        if isinstance(settings["lr"], Tensor):
            settings["lr"].fill_(value)
        else:
            settings["lr"] = value


def _run_sweep(
    sweep: Sweep, step: Step, items: int, size: int, device: torch.device
) -> dict[str, float]:
    """Teach networks by all pairs, in random order; return the terms of the loss."""
    for network in sweep.networks:
        network.train()
    for rows in sweep.deliver(torch.split(torch.randperm(items).to(device), size)):
        step(rows)
    for network in sweep.networks:
        network.eval()
    return step.take_terms()


def _require_finite(terms: dict[str, float], stage: str, epoch: int) -> None:
    bad = [name for name, value in terms.items() if value != value or abs(value) > 1e30]
    if bad:
        raise FdchError(
            f"{stage} diverged in epoch {epoch + 1}: {', '.join(bad)} is not finite. "
            "Lower learning_rate, or use standardised features and smaller weights."
        )


def _optimizer_tensors(
    optimizers: Sequence[Sequence[torch.optim.Optimizer]],
) -> dict[str, Tensor]:
    return {
        f"optimizer.{i}.{j}.{index}.{name}": torch.as_tensor(value)
        for i, group in enumerate(optimizers)
        for j, optimizer in enumerate(group)
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def _resume(
    stage: Stage,
    optimizers: Sequence[Sequence[torch.optim.Optimizer]],
    context: Context,
) -> int:
    """Load the stage's checkpoint, if any, and give the first epoch to run."""
    saved = context.checkpoints.load(stage.name) if context.checkpoints else None
    if saved is None:
        return 0
    try:
        return _load_state(stage, optimizers, *saved)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise DamagedRun(
            f"the checkpoint of {stage.name} does not fit its networks ({problem}). "
            "Delete it to train from the beginning."
        ) from problem


def _load_state(
    stage: Stage,
    optimizers: Sequence[Sequence[torch.optim.Optimizer]],
    tensors: Mapping[str, Tensor],
    facts: Mapping[str, Any],
) -> int:
    for name, tensor in stage.tensors().items():
        tensor.data.copy_(tensors[name])
    for i, group in enumerate(optimizers):
        for j, optimizer in enumerate(group):
            state = optimizer.state_dict()
            prefix = f"optimizer.{i}.{j}."
            for key in (key for key in tensors if key.startswith(prefix)):
                index, name = key.removeprefix(prefix).split(".", 1)
                state["state"].setdefault(int(index), {})[name] = tensors[key]
            optimizer.load_state_dict(state)
            lay_out_like_weights(optimizer)
    return int(facts["epoch"])


def lay_out_like_weights(optimizer: torch.optim.Optimizer) -> None:
    """Lay out the optimizer's state of each weight in memory as the weight itself.

    A fused step goes through both as they lie there, channels last or not.
    """
    for weight, values in optimizer.state.items():
        for name, value in values.items():
            if value.shape == weight.shape:
                values[name] = torch.empty_like(weight).copy_(value)


def output_figures(outputs: dict[str, Tensor]) -> dict[str, float]:
    """Return figures that show early whether codes are healthy.

    Mean |output| near 0 means that the network has not started to move; a bit
    imbalance near 1 means that bits are constant.
    """
    figures = {}
    for name, values in outputs.items():
        figures[f"mean |{name}|"] = values.abs().mean()
        figures[f"imbalance {name}"] = binary(values).mean(dim=0).abs().mean()
    # together, because a device is waited for
    return dict(zip(figures, torch.stack([*figures.values()]).tolist(), strict=True))


def network_tensors(**networks: nn.Module) -> dict[str, Tensor]:
    """Return the weights and buffers of networks by role and name, not copied."""
    return {
        f"{role}.{key}": tensor
        for role, network in networks.items()
        for key, tensor in network.state_dict(keep_vars=True).items()
    }
