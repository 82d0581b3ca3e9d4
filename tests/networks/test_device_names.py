"""A device that cannot be used is refused with those that can."""

import pytest
import torch

from fdch.errors import SettingError
from fdch.networks.device import resolve_device


def test_auto_is_a_device_of_this_machine():
    assert resolve_device().type in ("cpu", "cuda")


@pytest.mark.parametrize(
    ("name", "there", "reason"),
    [
        ("gpu", 0, "unknown device; known are auto, cpu, cuda. Use --device"),
        ("cuda:99", 0, "PyTorch finds no accelerator. Use --device auto"),
        ("cuda:99", 2, "PyTorch finds cuda:0, cuda:1. Use --device auto"),
        ("cpu:x", 0, r"[^.]+\. Use --device auto or --device cpu\.$"),
    ],
)
def test_a_device_that_is_not_there_says_which_are(monkeypatch, name, there, reason):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    with pytest.raises(SettingError, match=rf"'{name}' cannot be used here: {reason}"):
        resolve_device(name)
