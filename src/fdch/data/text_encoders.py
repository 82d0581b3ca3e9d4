"""Text encoders: features of whole texts in place of the packaged embeddings.

Results are kept in the cache folder by the text and the encoder's fingerprint.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fdch.codes import to_array
from fdch.data.cache import NothingKept, ResultCache
from fdch.data.extensions import FOLDER
from fdch.data.static_words import StaticVocabulary, words_in
from fdch.data.texts import Sentences
from fdch.errors import SettingError
from fdch.files import fingerprint
from fdch.progress import Progress, Update, silent

EncodeTexts = Callable[[Sequence[str]], ArrayLike]
TEXTS_AT_A_TIME = 256


@dataclass(frozen=True)
class TextEncoder:
    """A text encoder that can be chosen by its name.

    Args:
        name: What settings and commands call it.
        width: Number of features it gives.
        revision: Change it with the features: cached ones and saved models of another
            revision are not used.
        load: Makes the function from texts to features, (texts, width), for a
            device such as "cpu" or "auto".

    >>> import numpy as np
    >>> lengths = TextEncoder(
    ...     "lengths", 1, "1", lambda device: lambda texts: [[len(t)] for t in texts]
    ... )
    >>> lengths.encode(["a dog"])
    array([[5.]], dtype=float32)
    """

    name: str
    width: int
    revision: str
    load: "Callable[[str], EncodeTexts]" = field(compare=False, repr=False)

    def register(self) -> "TextEncoder":
        """Make it available to settings in this process."""
        REGISTERED[self.name] = self
        return self

    @property
    def fingerprint(self) -> str:
        """Return a hash that differs between encoders, but not with their folder."""
        name = FOLDER if self.name.startswith(FOLDER) else self.name
        return fingerprint([name, self.width, self.revision])

    def encode(self, texts: Sequence[str], device: str = "auto") -> NDArray[np.float32]:
        """Return features, (texts, width).

        Raises:
            SettingError: The encoder's function does not return such features.
        """
        found = to_array(_load(self, device)(texts)).astype(np.float32, copy=False)
        if found.shape != (len(texts), self.width):
            raise SettingError(
                f"the text encoder '{self.name}' returned features of shape "
                f"{found.shape}; expected {(len(texts), self.width)}. Correct its "
                "width, or its function."
            )
        if not np.isfinite(found).all():
            raise SettingError(
                f"the text encoder '{self.name}' returned infinite values or no "
                "numbers (NaN). Correct its function, or get its weights again."
            )
        return found


REGISTERED: dict[str, TextEncoder] = {}


@lru_cache(maxsize=1)
def _load(encoder: TextEncoder, device: str) -> EncodeTexts:
    """Load an encoder, or reuse the last one, so that queries do not wait."""
    return encoder.load(device)


@dataclass(frozen=True)
class EncodedVocabulary(StaticVocabulary):
    """Known words; a text's vector has its encoder's features in further columns."""

    encoder: TextEncoder
    device: str = "auto"  # where it runs
    progress: Progress = field(default=silent, compare=False, repr=False)

    @property
    def static_width(self) -> int:
        """Columns of the encoder's features."""
        return self.encoder.width

    def static_vectors(self, texts: Sentences, remember: bool) -> NDArray[np.float32]:
        """Make the encoder's features, (texts, width); zero without any word."""
        cache = ResultCache() if remember else NothingKept()
        rows: dict[str, list[int]] = {}  # equal texts are encoded once
        for row, text in enumerate(texts.values):
            if text is not None and words_in(text):
                rows.setdefault(text, []).append(row)
        keys = {text: self._key(text) for text in rows}
        kept = cache.get_many(keys.values())
        known = {text: kept[key] for text, key in keys.items() if key in kept}
        found = np.zeros((len(texts), self.static_width), np.float32)
        for text, value in known.items():
            found[rows[text]] = np.frombuffer(value, "<f4")
        for part, features in self._encode(
            [text for text in rows if text not in known]
        ):
            for text, feature in zip(part, features, strict=True):
                found[rows[text]] = feature
            values = (feature.astype("<f4").tobytes() for feature in features)
            cache.put_many(dict(zip(map(self._key, part), values, strict=True)))
        return found

    def _key(self, text: str) -> bytes:
        digest = hashlib.blake2b(self.encoder.fingerprint.encode(), digest_size=16)
        digest.update(text.encode("utf-8", "surrogatepass"))
        return b"texts 1 " + digest.digest()

    def _encode(
        self, texts: list[str]
    ) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        for start in range(0, len(texts), TEXTS_AT_A_TIME):
            part = texts[start : start + TEXTS_AT_A_TIME]
            yield part, self.encoder.encode(part, self.device)
            if len(texts) > TEXTS_AT_A_TIME:
                done = start + len(part)
                self.progress(Update("text features", done, len(texts), "text"))
