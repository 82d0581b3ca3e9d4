"""Both stages of FDCH as plain PyTorch loops, the peers of `fdch bench train`.

They use torch's own layers over dense word vectors, with the losses written out. Stage
1 has our initial weights and batches, so that without dropout both sides must reach
the same losses. Stage 2 imitates random codes, which cost as much as learned ones.
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

Settings = Mapping[str, Any]  # those of FDCH, default optimizer and reduction
Data = tuple[Tensor, Tensor, Tensor]
STAGE_TWO = "stage 2"


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
        """Return H, (pairs, bits)."""
        if self.training and self.word_dropout:
            texts = texts * (torch.rand_like(texts) >= self.word_dropout)
        f = self.image(self.dropout(images))
        g = self.text(torch.relu(self.words(texts)))
        return self.output(torch.relu(self.hidden(torch.tanh(f + g))))


def place_data(
    images: NDArray[np.float32],
    texts: csr_array,
    labels: NDArray[np.uint8],
    device: torch.device,
) -> Data:
    """Return standardized features, dense word vectors and labels on a device."""
    standardize = Standardization(images.shape[1]).fit(images)
    X = standardize(torch.tensor(images)).to(device)
    T = torch.from_numpy(texts.toarray().astype(np.float32)).to(device)
    return X, T, torch.from_numpy(labels.astype(np.float32)).to(device)


def plain_stage_one(data: Data, settings: Settings, progress: Progress) -> None:
    """Train, and report the mean loss of each epoch at its end."""
    X, T, Y = data
    network = _first_network(X.shape[1], T.shape[1], settings).to(X.device)
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
        with private_randomness(X.device, settings["seed"], "stage 1", epoch):
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
        pairwise, neighbours, balance = _common_terms(h, H, H, rows, Y, shift)
        quantization = ((B[rows] - h) ** 2).sum()
        over_pairs = 2 * pairwise + settings["balance_weight"] * balance
        over_items = settings["quantization_weight"] * quantization
        over_items = over_items + neighbour_weight * 2 * neighbours
        total += _learn(optimizer, over_pairs / (n * b) + over_items / b) * b / n
    return total


def _common_terms(
    out: Tensor, own: Tensor, other: Tensor, rows: Tensor, Y: Tensor, shift: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the pairwise, neighbour and balance terms of a batch; keep its outputs."""
    own[rows] = out.detach()
    S = (Y[rows] @ Y.T > 0).float()
    theta = out @ other.T / 2
    shifted = theta + shift
    pairwise = (functional.softplus(shifted) - S * shifted).sum()
    near = (S * theta).sum(dim=1) / S.sum(dim=1)
    neighbours = (torch.logsumexp(SCALE * theta, dim=1) - SCALE * near).sum()
    rest = own.sum(dim=0) - out.detach().sum(dim=0)
    return pairwise, neighbours, ((out.sum(dim=0) + rest) ** 2).sum()


def _learn(optimizer: torch.optim.Optimizer, loss: Tensor) -> Tensor:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()


def _first_network(features: int, words: int, settings: Settings) -> PlainNetwork:
    """Make the network with the initial weights of ours."""
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


def plain_stage_two(data: Data, settings: Settings, progress: Progress) -> None:
    """Train, and report the loss of each epoch at its end."""
    X, T, Y = data
    device = X.device
    with private_randomness(device, settings["seed"], STAGE_TWO):
        F, G, B = torch.randn(3, len(Y), settings["bits"], device=device)
        sides = [_network(X.shape[1], "image", settings)]
        sides.append(_network(T.shape[1], "text", settings))
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    optimizers = [
        torch.optim.AdamW(side.to(device).parameters(), lr=rate, weight_decay=decay)
        for side in sides
    ]
    epochs = settings["stage_two_epochs"]
    gram = Y.T @ Y + torch.eye(Y.shape[1], device=device)
    for epoch in range(epochs):
        with private_randomness(device, settings["seed"], STAGE_TWO, epoch):
            loss = 0.0
            for side, inputs, own, other, optimizer in zip(
                sides, (X, T), (F, G), (G, F), optimizers, strict=True
            ):
                W = torch.linalg.solve(gram, Y.T @ own)
                tensors = inputs, Y, own, other, torch.sign(B), W
                loss += float(_run_pass(side, optimizer, tensors, settings))
        progress(Update(STAGE_TWO, epoch + 1, epochs, "epoch", {"loss": loss}))


def _network(columns: int, side: str, settings: Settings) -> nn.Module:
    wide, bits = settings[f"{side}_hidden"], settings["bits"]
    rate = settings["image_dropout" if side == "image" else "word_dropout"]
    layers: list[nn.Module] = [nn.Dropout(rate), nn.Linear(columns, wide), nn.ReLU()]
    if side == "image":
        layers.append(nn.Dropout(rate))
    return nn.Sequential(*layers, nn.Linear(wide, bits))


def _run_pass(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    tensors: tuple[Tensor, ...],
    settings: Settings,
) -> Tensor:
    """Train one network on all pairs, with Eq. 10 written out."""
    X, Y, own, other, B, W = tensors
    n = len(Y)
    odds = log_odds(Y)
    shift = settings["prior_weight"] * odds
    nearness = settings["neighbour_weight"] * neighbour_share(odds, own.shape[1])
    total = torch.zeros((), device=own.device)
    network.train()
    for rows in torch.split(torch.randperm(n), settings["batch_size"]):
        b = len(rows)
        out = network(X[rows])
        pairwise, neighbours, balance = _common_terms(out, own, other, rows, Y, shift)
        imitation = ((B[rows] - out) ** 2).sum()
        classification = ((out - Y[rows] @ W) ** 2).sum()
        over_pairs = settings["pairwise_weight"] * pairwise
        over_pairs = over_pairs + settings["modality_balance_weight"] * balance
        over_items = settings["pairwise_weight"] * nearness * neighbours
        over_items = over_items + settings["imitation_weight"] * imitation
        over_items = over_items + settings["label_weight"] * classification
        total += _learn(optimizer, over_pairs / (n * b) + over_items / b) * b / n
    return total
