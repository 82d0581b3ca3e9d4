"""AdamW of a word layer that reads and writes the words of a batch alone.

A batch has a few hundred of all words, however many there are. AdamW moves the rows
of all others too, by decay and by what is left of their momentum. Without new
gradients that is a geometric series, so it is made up for when a word is next read,
and at the end of each pass over the pairs.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from fdch.networks.text import WordLayer
from fdch.training.devices.processes import count_processes

MIN_WORDS = 8000  # with fewer, one pass over all weights is faster
ROWS_AT_ONCE = 512  # no more than a batch has, so that no larger memory is taken


@contextmanager
def update_rows(
    networks: Sequence[nn.Module], optimizers: Sequence[torch.optim.Optimizer]
) -> Iterator[None]:
    """Let word layers learn row by row inside a block, on a processor with AdamW."""
    with ExitStack() as stack:
        for network, optimizer in zip(networks, optimizers, strict=True):
            for layer in network.modules():
                if isinstance(layer, WordLayer) and _is_worth_it(layer, optimizer):
                    stack.enter_context(_attach(layer, optimizer))
        yield


def _is_worth_it(layer: WordLayer, optimizer: torch.optim.Optimizer) -> bool:
    is_near = layer.weight.device.type == "cpu" and count_processes() == 1
    is_large = len(layer.weight) >= MIN_WORDS
    return is_near and is_large and isinstance(optimizer, torch.optim.AdamW)


@contextmanager
def _attach(layer: WordLayer, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    rows = WordRows(layer.weight, optimizer)
    hook = optimizer.register_step_post_hook(lambda *_: rows.step())
    layer.rows = rows
    try:
        yield
    finally:
        hook.remove()
        layer.rows = None
        rows.catch_up()


class WordRows:
    """The rows of a word layer's weight, (words, outputs), up to date when taken.

    What AdamW remembers of them stays in the optimizer, under the usual names. The
    optimizer itself leaves a weight without gradient alone.
    """

    def __init__(self, weight: nn.Parameter, optimizer: torch.optim.Optimizer) -> None:
        self._weight = weight
        self._settings = next(
            group
            for group in optimizer.param_groups
            if any(each is weight for each in group["params"])
        )
        self._state = optimizer.state[weight]
        if not self._state:
            self._state["step"] = torch.zeros(())
            self._state["exp_avg"] = torch.zeros_like(weight)
            self._state["exp_avg_sq"] = torch.zeros_like(weight)
        self._last = torch.zeros(len(weight), dtype=torch.int64)
        self._lags = Lags(*self._settings["betas"])
        self._taken: tuple[Tensor, ...] | None = None

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of some words, (entries,), and the place of each entry there.

        There is one row to each different word; the next step takes their gradient.
        """
        words, places = torch.unique(indices, return_inverse=True)
        part, *moments = self._bring_up_to_date(words)
        self._taken = words, part.requires_grad_(), *moments
        return part, places

    def step(self) -> None:
        """Move the rows taken by their gradient; all others lag by one more step."""
        if self._taken is None:  # a batch of dense rows, which the optimizer has moved
            return
        words, part, mean, square = self._taken
        self._taken = None
        assert part.grad is not None
        settings, number = self._settings, self._state["step"]
        adamw(
            [part.detach()],
            [part.grad],
            [mean],
            [square],
            [],
            [number],  # which it counts up
            fused=True,
            amsgrad=False,
            beta1=settings["betas"][0],
            beta2=settings["betas"][1],
            lr=settings["lr"],
            weight_decay=settings["weight_decay"],
            eps=settings["eps"],
            maximize=False,
        )
        self._lags.add_step(float(number), settings["lr"], settings["weight_decay"])
        self._store(words, part.detach(), mean, square)

    @torch.no_grad()
    def catch_up(self) -> None:
        """Bring all rows up to date."""
        for words in torch.split(torch.arange(len(self._weight)), ROWS_AT_ONCE):
            self._store(words, *self._bring_up_to_date(words))

    @torch.no_grad()
    def _bring_up_to_date(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return rows, means and squares of some words as of the last step."""
        part = self._weight.detach().index_select(0, words)
        mean = self._state["exp_avg"].index_select(0, words)
        square = self._state["exp_avg_sq"].index_select(0, words)
        shrink, slide, mean_left, square_left = self._lags.look_up(
            self._last[words], part.dtype
        )
        # AdamW adds eps after it has corrected the root, by a factor that hardly
        # changes while a mean fades
        known = 1 - self._settings["betas"][1] ** max(float(self._state["step"]), 1)
        movement = square.sqrt().add_(self._settings["eps"] * math.sqrt(known))
        torch.div(mean, movement, out=movement)
        part.mul_(shrink).sub_(movement.mul_(slide))
        return part, mean.mul_(mean_left), square.mul_(square_left)

    @torch.no_grad()
    def _store(self, words: Tensor, part: Tensor, mean: Tensor, square: Tensor) -> None:
        self._weight.detach().index_copy_(0, words, part)
        self._state["exp_avg"].index_copy_(0, words, mean)
        self._state["exp_avg_sq"].index_copy_(0, words, square)
        self._last[words] = self._lags.steps


class Lags:
    """What AdamW does to a row without a gradient, by when it was last up to date."""

    def __init__(self, beta1: float, beta2: float) -> None:
        self.steps = 0
        self._betas = beta1, beta2
        # of each step so far, and of now: factor on the row, what its mean over the
        # root of its square is multiplied by and taken away, and what these two keep
        self._table = torch.tensor([[1.0], [0.0], [1.0], [1.0]], dtype=torch.float64)

    def add_step(self, number: float, rate: float, decay: float) -> None:
        """Let all rows lag by one more step, its number counted from 1."""
        beta1, beta2 = self._betas
        shrink, slide, mean_left, square_left = self._table
        mean_left *= beta1
        square_left *= beta2
        shrink *= 1 - rate * decay
        correction = math.sqrt(1 - beta2**number) / (1 - beta1**number)
        slide *= 1 - rate * decay
        slide += rate * correction * mean_left / square_left.sqrt()
        new = torch.tensor([[1.0], [0.0], [1.0], [1.0]], dtype=torch.float64)
        self._table = torch.cat([self._table, new], dim=1)
        self.steps += 1

    def look_up(self, last: Tensor, dtype: torch.dtype) -> Tensor:
        """Return factor, slide and what is left of mean and square, (4, rows, 1)."""
        return self._table[:, last].to(dtype)[:, :, None]
