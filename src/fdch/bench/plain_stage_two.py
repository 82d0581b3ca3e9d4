"""Stage 2 of FDCH as a plain PyTorch loop, beside `plain_loop.py`.

Torch's own layers over dense word vectors, the loss written out, for codes that are
drawn at random: they cost what learned ones cost.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from fdch.bench.plain_loop import Settings
from fdch.networks.head import Standardization
from fdch.objectives.neighbours import SCALE, neighbour_share
from fdch.objectives.pairwise import log_odds
from fdch.progress import Progress, Update
from fdch.training.randomness import private_randomness

STAGE = "stage 2"


def plain_stage_two(
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
    with private_randomness(device, settings["seed"], STAGE):
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
        with private_randomness(device, settings["seed"], STAGE, epoch):
            loss = 0.0
            for side, inputs, own, other, optimizer in zip(
                sides, (X, T), (F, G), (G, F), optimizers, strict=True
            ):
                W = torch.linalg.solve(gram, Y.T @ own)
                tensors = inputs, Y, own, other, torch.sign(B), W
                loss += float(_run_pass(side, optimizer, tensors, settings))
        progress(Update(STAGE, epoch + 1, epochs, "epoch", {"loss": loss}))


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
    """Teach one network by all pairs, with Eq. 10 written out."""
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
        own[rows] = out.detach()
        S = (Y[rows] @ Y.T > 0).float()
        theta = out @ other.T / 2
        shifted = theta + shift
        pairwise = (functional.softplus(shifted) - S * shifted).sum()
        near = (S * theta).sum(dim=1) / S.sum(dim=1)
        neighbours = (torch.logsumexp(SCALE * theta, dim=1) - SCALE * near).sum()
        rest = own.sum(dim=0) - out.detach().sum(dim=0)
        balance = ((out.sum(dim=0) + rest) ** 2).sum()
        imitation = ((B[rows] - out) ** 2).sum()
        classification = ((out - Y[rows] @ W) ** 2).sum()
        over_pairs = settings["pairwise_weight"] * pairwise
        over_pairs = over_pairs + settings["modality_balance_weight"] * balance
        over_items = settings["pairwise_weight"] * nearness * neighbours
        over_items = over_items + settings["imitation_weight"] * imitation
        over_items = over_items + settings["label_weight"] * classification
        loss = over_pairs / (n * b) + over_items / b
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach() * b / n
    return total
