"""Where networks run, and in which arithmetic."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from fdch.errors import SettingError

KINDS = ("auto", "cpu", "cuda")
Precision = Literal["auto", "float32", "bfloat16"]


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
            f"device '{name}' cannot be used here: {_reason(name, problem)}. "
            "Use --device auto or --device cpu."
        ) from problem
    return device


def describe_device() -> str:
    """Name what "auto" chooses."""
    if torch.cuda.is_available():
        return f"cuda: {torch.cuda.get_device_name()}"
    return f"cpu, {torch.get_num_threads()} threads"


def _reason(name: str, problem: Exception) -> str:
    kind = name.partition(":")[0]
    if kind == "cuda":
        there = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        return f"PyTorch finds {', '.join(there) or 'no accelerator'}"
    if kind not in KINDS:
        return f"unknown device; known are {', '.join(KINDS)}"
    return str(problem).splitlines()[0].rstrip(".")


def choose_precision(precision: Precision, device: torch.device) -> Precision:
    """Choose "float32" or "bfloat16" where that is left open.

    >>> choose_precision("auto", torch.device("cpu"))
    'float32'
    """
    if precision != "auto":
        return precision
    return "bfloat16" if device.type == "cuda" else "float32"


def compute_in(precision: Precision, device: torch.device) -> torch.autocast:
    """Let layers compute in a precision inside a block; weights stay float32."""
    is_short = choose_precision(precision, device) == "bfloat16"
    return torch.autocast(device.type, torch.bfloat16, enabled=is_short)


@contextmanager
def quick_products(precision: Precision, device: torch.device) -> Iterator[None]:
    """Let an accelerator round the factors of float32 products inside a block.

    To 11 bits (TF32), which its matrix units take. With "float32" nothing is rounded.
    """
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda" and precision != "float32":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
