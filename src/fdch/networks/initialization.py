"""First weights of new layers, drawn from a generator that the caller passes."""

import math
from collections.abc import Callable, Iterator
from typing import Literal, ParamSpec, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from fdch.networks.linear import Linear

Initialization = Literal["normal", "he", "torch"]
Arguments = ParamSpec("Arguments")
Layer = TypeVar("Layer", bound=nn.Module)


@runtime_checkable
class HasFanIn(Protocol):
    """A layer whose weight is not laid out as torch's own layers are."""

    fan_in: int


def linear(inputs: int, outputs: int) -> Linear:
    """Make a linear layer without drawing from torch's global generator."""
    return _without_drawing(Linear, inputs, outputs)


def convolution(
    inputs: int, outputs: int, kernel: int, *, groups: int = 1, bias: bool = False
) -> nn.Conv2d:
    """Make a square convolution without drawing from the global generator."""
    return _without_drawing(
        nn.Conv2d, inputs, outputs, kernel, groups=groups, bias=bias
    )


def initialize(
    module: nn.Module, how: Initialization, generator: torch.Generator
) -> None:
    """Draw the weights of a module's linear, convolution and word layers, in order.

    "normal" draws weights and biases from N(0, 0.01²), as DCMH does; "he" draws weights
    from N(0, 2 / inputs), biases 0; "torch" draws both as torch's linear layers do,
    uniformly within 1 / sqrt(inputs). On torch's "meta" device, where tensors have no
    memory, nothing is drawn.

    >>> layer = linear(3, 2)
    >>> initialize(layer, "he", torch.Generator().manual_seed(0))
    >>> layer.bias.tolist()
    [0.0, 0.0]
    """
    for layer, fan_in in _weighted_layers(module):
        spread = {"normal": 0.01, "he": math.sqrt(2 / fan_in)}
        for name, parameter in layer.named_parameters(recurse=False):
            if parameter.is_meta:
                continue
            values = torch.empty(parameter.shape, device=generator.device)
            if how == "torch":
                bound = 1 / math.sqrt(fan_in)
                values.uniform_(-bound, bound, generator=generator)
            elif how == "he" and name == "bias":
                values.zero_()
            else:
                values.normal_(0, spread[how], generator=generator)
            _assign(parameter, values)


def _without_drawing(
    layer: Callable[Arguments, Layer], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Layer:
    # as torch's skip_init, which imports SymPy for a second
    made = layer(*args, device="meta", **kwargs)  # type: ignore[arg-type]
    for name, parameter in made.named_parameters(recurse=False):
        empty = torch.empty(parameter.shape, device=torch.get_default_device())
        setattr(made, name, nn.Parameter(empty))
    return made


@torch.no_grad()
def _assign(parameter: Tensor, values: Tensor) -> None:
    parameter.copy_(values)


def _weighted_layers(module: nn.Module) -> Iterator[tuple[nn.Module, int]]:
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            yield layer, layer.weight[0].numel()
        elif isinstance(layer, HasFanIn):
            yield layer, layer.fan_in
