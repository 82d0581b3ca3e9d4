"""The text hash network: words or ready text features to outputs (G in the paper).

A text has a handful of a thousand words or more, so the first layer adds up the
rows of the words that occur instead of multiplying by all the zeros.
"""

from typing import NamedTuple, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks.dropout import WordDropout
from fdch.networks.initialization import Initialization, initialize, linear

# above this share of non-zero entries the plain product is faster
DENSE_SHARE = 0.1


class WordBatch(NamedTuple):
    """Some rows of a word matrix: the non-zero entries, or all entries.

    Args:
        indices: Column of each non-zero entry, (entries,).
        offsets: Where each row begins in indices, and the end, (rows + 1,).
        values: The non-zero entries, (entries,).
        dense: All entries, (rows, words), instead of the others; or None.
    """

    indices: Tensor
    offsets: Tensor
    values: Tensor
    dense: Tensor | None = None

    def to(self, device: torch.device | str) -> Self:
        """Give the batch on another device."""
        moved = (None if part is None else part.to(device) for part in self)
        return type(self)(*moved)  # type: ignore[arg-type]


def sparse_rows(rows: csr_array) -> WordBatch:
    """Make a batch of rows of a word matrix.

    Args:
        rows: Numbers, (texts, words); few of them non-zero, or all.

    >>> sparse_rows(csr_array(np.eye(2, 40)[[0, 1, 1]])).offsets.tolist()
    [0, 1, 2, 3]
    """
    if rows.nnz > DENSE_SHARE * rows.shape[0] * rows.shape[1]:
        dense = torch.from_numpy(rows.toarray().astype(np.float32, copy=False))
        nothing = torch.empty(0, dtype=torch.int64)
        return WordBatch(nothing, nothing, nothing, dense)
    return WordBatch(
        torch.from_numpy(rows.indices.astype(np.int64)),
        torch.from_numpy(rows.indptr.astype(np.int64)),
        torch.from_numpy(rows.data.astype(np.float32)),
    )


class WordLayer(nn.Module):
    """A linear layer over words whose weight is kept words by outputs."""

    def __init__(self, words: int, outputs: int) -> None:
        super().__init__()
        self.fan_in = words
        self.weight = nn.Parameter(torch.empty(words, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, batch: WordBatch) -> Tensor:
        """Multiply rows of words by the weight and add the bias."""
        if batch.dense is not None:
            return torch.addmm(self.bias, batch.dense, self.weight)
        sums = functional.embedding_bag(
            batch.indices,
            self.weight,
            batch.offsets,
            mode="sum",
            per_sample_weights=batch.values.to(self.weight.dtype),
            include_last_offset=True,
        )
        return sums + self.bias


class TextNetwork(nn.Module):
    """Words to a wide hidden layer, ReLU, and a linear layer to the outputs.

    Args:
        words: Number of words, or of text features.
        outputs: Number of outputs: bits, or the width of the fusion.
        hidden: Width of the hidden layer.
        word_dropout: Probability that a word is left out while training; kept
            words count as before.
        initialization: How the weights are first drawn.
        generator: Where the random numbers come from; none draws with seed 0.
    """

    def __init__(
        self,
        words: int,
        outputs: int,
        *,
        hidden: int = 8192,
        word_dropout: float = 0.0,
        initialization: Initialization = "torch",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.words = WordLayer(words, hidden)
        self.output = linear(hidden, outputs)
        self.dropout = WordDropout(word_dropout)
        initialize(self, initialization, generator)

    def forward(self, batch: WordBatch) -> Tensor:
        """Turn a batch of texts into outputs, (texts, outputs)."""
        if batch.dense is not None:
            batch = batch._replace(dense=self.dropout(batch.dense))
        else:
            batch = batch._replace(values=self.dropout(batch.values))
        return self.output(functional.relu(self.words(batch)))
