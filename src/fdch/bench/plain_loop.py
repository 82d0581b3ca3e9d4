"""Stage 1 of FDCH as a plain PyTorch loop: whom `fdch bench train` compares with.

The network is made of torch's own layers over dense word vectors, the loss is
written out. First weights and batches are ours, so that both sides must come to
the same losses where nothing is dropped.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks.fusion import FusionNetwork
from fdch.networks.head import ImageHead, Standardization
from fdch.networks.text import TextNetwork
from fdch.objectives.neighbours import SCALE, neighbour_share
from fdch.objectives.pairwise import log_odds
from fdch.progress import Progress, Update
from fdch.training.loop import Schedule
from fdch.training.randomness import derive_seed, private_randomness

Settings = Mapping[str, Any]


class PlainNetwork(nn.Module):
    """Image, text and fusion network of stage 1, with the settings of FDCH."""

    def __init__(self, features: int, words: int, settings: Settings) -> None:
        super().__init__()
        width, wide = settings["fusion_width"], settings["text_hidden"]
        self.dropout = nn.Dropout(settings["image_dropout"])
        self.word_dropout: float = settings["word_dropout"]
        self.image = nn.Linear(features, width)
        self.words = nn.Linear(words, wide)
        self.text = nn.Linear(wide, width)
        self.hidden = nn.Linear(width, settings["fusion_hidden"])
        self.output = nn.Linear(settings["fusion_hidden"], settings["bits"])

    def forward(self, images: Tensor, texts: Tensor) -> Tensor:
        """Give H, (pairs, bits)."""
        if self.training and self.word_dropout:
            texts = texts * (torch.rand_like(texts) >= self.word_dropout)
        f = self.image(self.dropout(images))
        g = self.text(torch.relu(self.words(texts)))
        return self.output(torch.relu(self.hidden(torch.tanh(f + g))))


def plain_stage_one(
    images: NDArray[np.float32],
    texts: csr_array,
    labels: NDArray[np.uint8],
    settings: Settings,
    device: torch.device,
    progress: Progress,
) -> None:
    """Train, and report the mean loss of each epoch when the epoch is over.

    Args:
        images: Features, (n, features).
        texts: Word vectors, (n, words).
        labels: 0 or 1, (n, classes).
        settings: Those of FDCH, with its default optimizer and reduction.
        device: Where to train.
        progress: Called after each epoch.
    """
    standardize = Standardization(images.shape[1]).fit(images)
    X = standardize(torch.tensor(images)).to(device)
    T = torch.from_numpy(texts.toarray().astype(np.float32)).to(device)
    Y = torch.from_numpy(labels.astype(np.float32)).to(device)
    network = _first_network(X.shape[1], T.shape[1], settings).to(device)
    schedule = Schedule(
        settings["stage_one_epochs"],
        settings["batch_size"],
        settings["learning_rate"],
        settings["final_learning_rate"],
        settings["weight_decay"],
        settings["optimizer"],
    )
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
    )
    network.eval()
    with torch.no_grad():
        H = network(X, T)
    for epoch in range(schedule.epochs):
        optimizer.param_groups[0]["lr"] = schedule.rate(epoch)
        with private_randomness(device, settings["seed"], "stage 1", epoch):
            loss = _run_epoch(network, optimizer, (X, T, Y, H), settings)
        values = {"loss": float(loss)}
        progress(Update("stage 1", epoch + 1, schedule.epochs, "epoch", values))


def _run_epoch(
    network: PlainNetwork,
    optimizer: torch.optim.Optimizer,
    tensors: tuple[Tensor, Tensor, Tensor, Tensor],
    settings: Settings,
) -> Tensor:
    X, T, Y, H = tensors
    n = len(Y)
    B = torch.where(H >= 0, 1.0, -1.0)
    odds = log_odds(Y)
    shift = settings["prior_weight"] * odds
    neighbour_weight = settings["neighbour_weight"] * neighbour_share(odds, H.shape[1])
    total = torch.zeros((), device=H.device)
    network.train()
    for rows in torch.split(torch.randperm(n), settings["batch_size"]):
        b = len(rows)
        h = network(X[rows], T[rows])
        H[rows] = h.detach()
        S = (Y[rows] @ Y.T > 0).float()
        theta = h @ H.T / 2
        shifted = theta + shift
        pairwise = 2 * (functional.softplus(shifted) - S * shifted).sum()
        near = (S * theta).sum(dim=1) / S.sum(dim=1)
        neighbours = 2 * (torch.logsumexp(SCALE * theta, dim=1) - SCALE * near).sum()
        rest = H.sum(dim=0) - h.detach().sum(dim=0)
        balance = ((h.sum(dim=0) + rest) ** 2).sum()
        quantization = ((B[rows] - h) ** 2).sum()
        over_pairs = pairwise + settings["balance_weight"] * balance
        over_items = settings["quantization_weight"] * quantization
        over_items = over_items + neighbour_weight * neighbours
        loss = over_pairs / (n * b) + over_items / b
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach() * b / n
    return total


def _first_network(features: int, words: int, settings: Settings) -> PlainNetwork:
    """Make the network with the weights that ours begins with."""
    generator = torch.Generator().manual_seed(derive_seed(settings["seed"], "weights"))
    width = settings["fusion_width"]
    image = ImageHead(features, width, generator=generator)
    text = TextNetwork(
        words, width, hidden=settings["text_hidden"], generator=generator
    )
    fusion = FusionNetwork(
        width, settings["bits"], hidden=settings["fusion_hidden"], generator=generator
    )
    with torch.random.fork_rng([]):
        plain = PlainNetwork(features, words, settings)
    plain.image.load_state_dict(image.output.state_dict())
    plain.words.load_state_dict(
        {"weight": text.words.weight.detach().T, "bias": text.words.bias.detach()}
    )
    plain.text.load_state_dict(text.output.state_dict())
    plain.hidden.load_state_dict(fusion.hidden.state_dict())
    plain.output.load_state_dict(fusion.output.state_dict())
    return plain
