"""Static word embeddings beside the bag of words, from the package wordllama.

A text's static vector is the mean of the embeddings of its word pieces, scaled to
length 1. Words that no training text has count too, so that they mean something in
a query. The package's own loader contacts a server; its two files are read here.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load
from scipy import sparse

from fdch.data.texts import Sentences, Vocabulary
from fdch.data.words import find_runs, fold_case
from fdch.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
NAME = "wordllama/l2_supercat_256"  # by which saved models name them
WIDTH = 256
MAX_REMEMBERED_WORDS = 50_000
MAX_LETTERS = 100  # longer words are cut, so that few letters are remembered


class PackagedFile(NamedTuple):
    """A file of the package, and its SHA-256."""

    path: str
    sha256: str


WEIGHTS = PackagedFile(
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
TOKENIZER = PackagedFile(
    "tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)


class StaticEmbeddings:
    """A tokenizer that cuts words into pieces, and a table of their embeddings.

    The table is float16, (pieces, width).
    """

    def __init__(self, table: NDArray[np.float16], tokenizer: "Tokenizer") -> None:
        self._table, self._tokenizer = table, tokenizer
        self.pieces = lru_cache(MAX_REMEMBERED_WORDS)(self._pieces)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the static vector of a text, (width,); zeros without any word."""
        numbers = [piece for word in words_in(text) for piece in self.pieces(word)]
        if not numbers:
            return np.zeros(self._table.shape[1], np.float32)
        mean = self._table[numbers].mean(axis=0, dtype=np.float32)
        return mean / max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)

    def _pieces(self, word: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(word, add_special_tokens=False).ids)


class StaticVocabulary(Vocabulary):
    """Known words; a text's vector has its static vector in further columns.

    A text counts as long as it has a word, known or not. Unknown ones are still named:
    the vectors of most are made of pieces that say how they are written.
    """

    @property
    def static_width(self) -> int:
        """Columns of the static vectors."""
        return WIDTH

    def reads(self, text: str) -> bool:
        """Return whether a text has any word."""
        return super().reads(text) or bool(words_in(text))

    def vectors(self, texts: Sentences, *, remember: bool = True) -> sparse.csr_array:
        """Make vectors, float32 (texts, words + static width)."""
        static = sparse.csr_array(self.static_vectors(texts, remember))
        return sparse.hstack([super().vectors(texts), static], format="csr")

    def static_vectors(self, texts: Sentences, remember: bool) -> NDArray[np.float32]:
        """Make the static vectors, (texts, static width); zero without any word."""
        embeddings = load_embeddings()
        static = np.zeros((len(texts), WIDTH), np.float32)
        for row, text in enumerate(texts.values):
            if text is not None:
                static[row] = embeddings.vector(text)
        return static


def restore_vocabulary(
    words: Sequence[str] | None, static: str | None, width: int
) -> Vocabulary | None:
    """Make the vocabulary that a saved model names; None for ready vectors.

    ValueError where the words, the name of the static embeddings and the columns of
    the model's text vectors do not fit together.
    """
    if static not in (None, NAME):
        raise ValueError(f"it needs the unknown static embeddings {str(static)[:80]!r}")
    if words is None:
        return None
    kind = Vocabulary if static is None else StaticVocabulary
    found = kind(tuple(map(str, words)))
    if found.width != width:
        raise ValueError(f"{len(words)} words for {width} columns")
    if static is not None:
        load_embeddings()
    return found


def words_in(text: str) -> list[str]:
    """List the words of a text in order, without regard to case.

    >>> words_in("New-York, geo:tool")
    ['new', 'york', 'geo', 'tool']
    """
    # without "_": the parts of tags such as new_york, new-york and geo:tool=x are words
    runs = (run[0] for run in find_runs(fold_case(text).replace("_", " ")))
    return [
        run[start : start + MAX_LETTERS]
        for run in runs
        for start in range(0, len(run), MAX_LETTERS)
    ]


def is_installed() -> bool:
    """Return whether the embeddings and what reads them are there."""
    return all(find_spec(name) is not None for name in (PACKAGE, "tokenizers"))


@lru_cache(maxsize=1)
def load_embeddings() -> StaticEmbeddings:
    """Read the embeddings from their package, once a process, and check them."""
    spec = find_spec(PACKAGE)  # which does not import it
    if not is_installed() or spec is None or not spec.submodule_search_locations:
        raise MissingExtra("text_features 'words+static'", "static")
    from tokenizers import Tokenizer

    folder = Path(spec.submodule_search_locations[0])
    try:
        tensors = load(_read(folder, WEIGHTS))
        tokenizer = Tokenizer.from_buffer(_read(folder, TOKENIZER))
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"the static embeddings in '{folder}' cannot be read ({error}). "
            f"Reinstall the package {PACKAGE}."
        ) from error
    (table,) = tensors.values()
    return StaticEmbeddings(table, tokenizer)


def _read(folder: Path, file: PackagedFile) -> bytes:
    content = (folder / file.path).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise DataError(
            f"'{folder / file.path}' is not the published file (SHA-256 {digest}, "
            f"expected {file.sha256}). Reinstall the package {PACKAGE}."
        )
    return content
