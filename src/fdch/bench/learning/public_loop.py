"""End-to-end training as published PyTorch code of this field is written.

Pictures are on the host as float64 and are converted and copied batch by batch; the
networks are torch's own layers in float32; labels are compared for each batch. The
loss is that of DCMH: one pass teaches the image network, one the text network.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks import image as image_networks
from fdch.networks.backbones.cnnf import CONVOLUTIONS, POOLED_SIDE, WIDTHS
from fdch.progress import Progress, Update

HIDDEN = 8192
LEARNING_RATE = 10**-1.5
TASK = "epoch"


class PlainCNNF(nn.Module):
    """CNN-F from torch's own layers; takes planes, (batch, 3, 224, 224)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for row, outputs in zip(CONVOLUTIONS, WIDTHS, strict=False):
            layers += [
                nn.Conv2d(inputs, outputs, row.kernel, row.stride, row.padding),
                nn.ReLU(inplace=True),
            ]
            if row.normalized:
                layers.append(nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2))
            if row.pooled:
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            inputs = outputs
        flat, hidden, width = inputs * POOLED_SIDE**2, WIDTHS[-2], WIDTHS[-1]
        self.layers = nn.Sequential(*layers, nn.Flatten())
        self.full = nn.Sequential(
            *(nn.Linear(flat, hidden), nn.ReLU(inplace=True)),
            *(nn.Linear(hidden, width), nn.ReLU(inplace=True)),
        )

    def forward(self, planes: Tensor) -> Tensor:
        """Return features, (batch, 4096)."""
        return self.full(self.layers(planes - 127))


class PlainPictures(nn.Module):
    """One of our networks over planes, as used without fdch."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.network = image_networks.load(name)
        self.network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]

    def forward(self, planes: Tensor) -> Tensor:
        """Return features, (batch, width)."""
        return self.network(planes.permute(0, 2, 3, 1))


def store_pictures(pixels: NDArray[np.uint8]) -> Tensor:
    """Turn (n, size, size, 3) into (n, 3, size, size), as such code keeps pictures."""
    planes = torch.from_numpy(pixels).permute(0, 3, 1, 2)
    return planes.to(torch.float64, memory_format=torch.contiguous_format)


def run_public_loop(
    network: str,
    X: Tensor,
    texts: csr_array,
    labels: NDArray[np.uint8],
    settings: dict[str, Any],
    device: torch.device,
    progress: Progress,
) -> None:
    """Train for some epochs, and report each.

    Pictures X come from `store_pictures`, word vectors are (n, words), labels 0 or
    1, (n, classes). Settings are epochs, bits and batch_size.
    """
    bits, size, n = settings["bits"], settings["batch_size"], len(labels)
    T = torch.from_numpy(texts.toarray().astype(np.float64))
    Y = torch.from_numpy(labels.astype(np.float32)).to(device)
    image, text = (each.to(device) for each in _networks(network, T.shape[1], bits))
    image.train()
    F, G = torch.randn(2, n, bits, device=device)
    for epoch in range(settings["epochs"]):
        B = torch.sign(F + G)
        for side, inputs, own, other in ((image, X, F, G), (text, T, G, F)):
            rate = torch.optim.SGD(side.parameters(), lr=LEARNING_RATE)
            for rows in torch.split(torch.randperm(n), size):
                out = side(inputs[rows].float().to(device))
                _step(out, rate, rows, (own, other, B, Y))
        loss = float(functional.softplus(F @ G.T / 2).mean())
        values = {"loss": loss}
        progress(Update(TASK, epoch + 1, settings["epochs"], "epoch", values))


def _networks(name: str, words: int, bits: int) -> tuple[nn.Module, nn.Module]:
    with torch.random.fork_rng([]):
        backbone = PlainCNNF() if name == "cnnf" else PlainPictures(name)
        width = image_networks.describe(name).width
        image = nn.Sequential(backbone, nn.Linear(width, bits))
        text = nn.Sequential(
            nn.Linear(words, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, bits)
        )
    return image, text


def _step(
    out: Tensor,
    optimizer: torch.optim.Optimizer,
    rows: Tensor,
    tensors: tuple[Tensor, Tensor, Tensor, Tensor],
) -> None:
    own, other, B, Y = tensors
    own[rows] = out.detach()
    S = (Y[rows] @ Y.T > 0).float()
    theta = out @ other.T / 2
    pairwise = (functional.softplus(theta) - S * theta).sum()
    quantization = (B[rows] - out).square().sum()
    balance = out.sum(dim=0).square().sum()
    loss = (pairwise + quantization + balance) / theta.numel()
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
