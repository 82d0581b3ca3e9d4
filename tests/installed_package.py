"""A package that a test installs: modules, and what they add to fdch."""

NETWORK = '''
import torch
from torch import nn
from fdch import ImageNetwork


def build():
    """Mean and deviation of each colour, in a few weights that may learn."""
    layers = nn.Conv2d(3, 6, 4, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
    generator = torch.Generator().manual_seed(0)
    nn.init.normal_(layers[0].weight, 0, 0.3, generator=generator)
    nn.init.zeros_(layers[0].bias)
    return nn.Sequential(*layers, nn.Flatten())


colours = ImageNetwork.from_module("colours", build, size=32, width=6)
'''
ENCODER = """
import numpy as np
from fdch import TextEncoder

ANIMALS = {"dog", "cat", "horse", "cow", "sheep", "animal", "pony"}


def load(device):
    def encode(texts):
        words = [text.lower().split() for text in texts]
        shares = [sum(w in ANIMALS for w in each) / len(each) for each in words]
        return np.stack([shares, np.ones(len(texts))], axis=1)

    return encode


themes = TextEncoder("themes", 2, "1", load)
broken = "not an encoder"
"""
METHOD = '''
from dataclasses import dataclass

from fdch.methods.dch import DCH


@dataclass
class OwnDCH(DCH):
    """DCH under another name."""
'''
POINTS = """
[fdch.image_networks]
colours = own_network:colours
gone = own_nothing:gone

[fdch.text_encoders]
themes = own_encoder:themes
broken = own_encoder:broken

[fdch.methods]
own_dch = own_method:OwnDCH
wrong = own_network:build
"""


def install(folder, made_with="1.5"):
    """Write the package into a folder that is, or will be, on Python's path."""
    folder.mkdir(exist_ok=True)
    for name, text in (
        ("own_network", NETWORK),
        ("own_encoder", ENCODER),
        ("own_method", METHOD),
    ):
        (folder / f"{name}.py").write_text(text)
    about = folder / f"own_fdch-{made_with}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: own-fdch\nVersion: {made_with}\n"
    )
    (about / "entry_points.txt").write_text(POINTS)
    return folder
