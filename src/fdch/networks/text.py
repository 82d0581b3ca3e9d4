"""The text hash network: words or ready text features to outputs (G in the paper).

A text has a handful of a thousand words or more, so the first layer adds up the
rows of the words that occur instead of multiplying by all the zeros. Static
features, of which a text has all, go through a dense layer that is added to it.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from fdch.data.fitting import split_static
from fdch.networks.dropout import Dropout, WordDropout
from fdch.networks.head import Standardization
from fdch.networks.initialization import Initialization, initialize, linear
from fdch.networks.share import current_share

# above this share of non-zero entries the plain product is faster
DENSE_SHARE = 0.1
STATIC_SCALE = 0.2


class WordBatch(NamedTuple):
    """Some rows of a word matrix: the non-zero entries, or all; static features."""

    indices: Tensor  # column of each non-zero entry, (entries,)
    offsets: Tensor  # where each row begins in indices, and the end, (rows + 1,)
    values: Tensor  # the non-zero entries, (entries,)
    dense: Tensor | None = None  # all entries, (rows, words), instead of the others
    static: Tensor | None = None  # static features, (rows, width)

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on another device."""
        moved = (None if part is None else part.to(device) for part in self)
        return type(self)(*moved)  # type: ignore[arg-type]

    def with_static(self, static: Tensor) -> Self:
        """Return the batch with static features of its rows."""
        return self._replace(static=static)

    def take(self, rows: slice) -> Self:
        """Return the batch of some rows, one after the other."""
        static = None if self.static is None else self.static[rows]
        if self.dense is not None:
            return self._replace(dense=self.dense[rows], static=static)
        offsets = self.offsets[rows.start : rows.stop + 1]
        entries = slice(int(offsets[0]), int(offsets[-1]))
        return type(self)(
            self.indices[entries],
            offsets - offsets[0],
            self.values[entries],
            static=static,
        )


def sparse_rows(rows: csr_array, static: int = 0) -> WordBatch:
    """Make a batch of rows of words, with static features in the last columns.

    Rows are (texts, words + static); few words are non-zero, or all.

    >>> sparse_rows(csr_array(np.eye(2, 40)[[0, 1, 1]])).offsets.tolist()
    [0, 1, 2, 3]
    """
    rows, features = split_static(rows, static)
    if features is not None:
        return sparse_rows(rows).with_static(torch.from_numpy(features))
    if rows.nnz > DENSE_SHARE * rows.shape[0] * rows.shape[1]:
        dense = torch.from_numpy(rows.toarray().astype(np.float32, copy=False))
        nothing = torch.empty(0, dtype=torch.int64)
        return WordBatch(nothing, nothing, nothing, dense)
    return WordBatch(
        torch.from_numpy(rows.indices.astype(np.int64)),
        torch.from_numpy(rows.indptr.astype(np.int64)),
        torch.from_numpy(rows.data.astype(np.float32)),
    )


class Rows(Protocol):
    """Who keeps the rows of a weight while it learns."""

    def take(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of some words, and the place of each index among them."""
        ...

    def catch_up(self) -> None:
        """Bring all rows up to date."""
        ...


class WordLayer(nn.Module):
    """A linear layer over words whose weight is kept words by outputs.

    While it learns, `rows` may keep the weight and give only the rows of a batch.
    """

    def __init__(self, words: int, outputs: int) -> None:
        super().__init__()
        self.fan_in = words
        self.rows: Rows | None = None
        self.weight = nn.Parameter(torch.empty(words, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, batch: WordBatch) -> Tensor:
        """Multiply rows of words by the weight and add the bias."""
        if batch.dense is not None:
            if self.rows is not None:
                self.rows.catch_up()
            return torch.addmm(self.bias, batch.dense, self.weight)
        weight: Tensor = self.weight
        indices = batch.indices
        if self.rows is not None:
            weight, indices = self.rows.take(indices)
        sums = functional.embedding_bag(
            indices,
            weight,
            batch.offsets,
            mode="sum",
            per_sample_weights=batch.values.to(weight.dtype),
            include_last_offset=True,
        )
        return sums + self.bias


class StaticLayer(nn.Module):
    """Static features, standardised and with dropout, added to a word layer's sums.

    A text has a few words and hundreds of static features; scaled down, these do not
    drown the words.
    """

    def __init__(self, features: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.fan_in = features
        self.standardization = Standardization(features, of="text")
        self.dropout = Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(features, outputs))

    def forward(self, sums: Tensor, features: Tensor) -> Tensor:
        """Add the product of features and weight to sums, (batch, outputs)."""
        seen = self.dropout(self.standardization(features))
        return torch.addmm(sums, seen, self.weight, alpha=STATIC_SCALE)


class TextNetwork(nn.Module):
    """Words to a wide hidden layer, ReLU, and a linear layer to the outputs.

    Args:
        words: Number of words, or of text features.
        outputs: Number of outputs: bits, or the width of the fusion.
        static: Number of static features beside the words.
        hidden: Width of the hidden layer.
        word_dropout: Probability that a word is left out while training; kept
            words count as before.
        static_dropout: Probability that a static feature is left out.
        initialization: How the weights are first drawn.
        generator: Where the random numbers come from; none draws with seed 0.
    """

    def __init__(
        self,
        words: int,
        outputs: int,
        *,
        static: int = 0,
        hidden: int = 8192,
        word_dropout: float = 0.0,
        static_dropout: float = 0.0,
        initialization: Initialization = "torch",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.static_width = static
        self.words = WordLayer(words, hidden)
        self.static = StaticLayer(static, hidden, static_dropout) if static else None
        self.output = linear(hidden, outputs)
        self.dropout = WordDropout(word_dropout)
        initialize(self, initialization, generator)

    def forward(self, batch: WordBatch) -> Tensor:
        """Turn a batch of texts into outputs, (texts, outputs).

        Where processes share a batch it holds the texts of all of them, since the
        words to drop are drawn for all; outputs are of the share alone.
        """
        if batch.dense is not None:
            batch = batch._replace(dense=self.dropout(batch.dense))
        else:
            batch = batch._replace(values=self.dropout(batch.values))
        if (share := current_share()) is not None:
            batch = batch.take(share.rows)
        hidden = self.words(batch)
        if self.static is not None:
            hidden = self.static(hidden, batch.static)
        return self.output(functional.relu(hidden))


def static_width(network: nn.Module) -> int:
    """Say how many of the last text columns a network takes as static features."""
    found = (part for part in network.modules() if isinstance(part, TextNetwork))
    return next((part.static_width for part in found), 0)
