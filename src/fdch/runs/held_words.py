"""Which words texts hold, as numbers: for how probable results are that match."""

from zlib import crc32

import numpy as np
from scipy.sparse import csr_array

from fdch.data.texts import Sentences, Texts
from fdch.index.storage.word_table import split_words, stem_word

WORD_HASHES = 2**20


def hold_words(texts: Texts) -> csr_array | None:
    """Say which words texts hold, as an index finds them, (texts, hashes of words)."""
    if not isinstance(texts, Sentences):
        return None
    columns = [
        np.unique([crc32(stem_word(w).encode()) % WORD_HASHES for w in split_words(t)])
        for t in texts.values
    ]
    starts = np.cumsum([0, *map(len, columns)])
    places = np.concatenate([np.empty(0, np.int64), *columns]).astype(np.int64)
    shape = (len(columns), WORD_HASHES)
    return csr_array((np.ones(len(places), np.float32), places, starts), shape)
