"""How pictures and words become numbers: fitted with a method and saved with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.cache import pixel_store
from fdch.data.fitting import fitting_vectors, require_fitting
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures, Images, Pictures, decode_batches
from fdch.data.static_words import (
    NAME,
    StaticVocabulary,
    is_installed,
    load_embeddings,
    restore_vocabulary,
)
from fdch.data.texts import Sentences, Texts, Vocabulary, WordVectors
from fdch.errors import DamagedRun, DataError, SettingError
from fdch.training.context import Context

if TYPE_CHECKING:
    from fdch.networks.image import ImageNetwork

DEFAULT_NETWORK = "efficientnet_lite0"
READY = "features"
TextFeatures = Literal["auto", "words", "words+static"]
AUTO: TextFeatures = "auto"
WORDS: TextFeatures = "words"
STATIC: TextFeatures = "words+static"


@dataclass(frozen=True)
class Inputs:
    """What turns pictures and texts into the arrays that methods learn from.

    Args:
        image_network: Name of the image network, or "features" for ready ones.
        image_width: Columns of ready features, or the network's output width.
        image_weights: File of the network's weights; empty for the packaged ones.
        finetune: Pictures are handed on as pixels, for a network that is trained.
        vocabulary: The known words; None for ready word vectors.
        text_width: Columns of the word vectors, static ones included.
        items: Training pairs that all this was fitted on.
    """

    image_network: str
    image_width: int
    image_weights: str
    finetune: bool
    vocabulary: Vocabulary | None
    text_width: int
    items: int

    @classmethod
    def fit(
        cls,
        pairs: PairedSet,
        image_network: str = "auto",
        image_weights: str = "",
        finetune: bool = False,
        text_features: TextFeatures = AUTO,
    ) -> "Inputs":
        """Choose the image network, and learn the vocabulary from training pairs.

        The dataset's own vocabulary is used where it has one.
        """
        if image_weights and isinstance(pairs.images, ImageFeatures):
            raise SettingError(
                "the data has ready image features, so that image_weights "
                f"'{image_weights}' cannot be used. Leave it out, or give pictures."
            )
        name, width = _choose_network(pairs.images, image_network, finetune)
        vocabulary, text_width = _fit_vocabulary(pairs.texts, text_features)
        return cls(
            image_network=name,
            image_width=width,
            image_weights=image_weights,
            finetune=finetune,
            vocabulary=vocabulary,
            text_width=text_width,
            items=len(pairs),
        )

    @property
    def network(self) -> "ImageNetwork":
        """The image network, of methods that look at pictures."""
        # not above: what an index holds is known without torch
        from fdch.networks import image as image_networks

        return image_networks.describe(self.image_network)

    @property
    def static_width(self) -> int:
        """How many of the last text columns are static features, not words."""
        return 0 if self.vocabulary is None else self.vocabulary.static_width

    @property
    def size(self) -> int | None:
        """Rows and columns of pictures; None for ready features."""
        return None if self.image_network == READY else self.network.size

    def images(
        self, images: Images, context: Context, *, keep: bool = False
    ) -> NDArray[np.float32] | NDArray[np.uint8]:
        """Give features, float32 (n, width), or pixels, uint8 (n, size, size, 3).

        Args:
            images: Rows that all have an image.
            context: Device and progress.
            keep: Keep pixels on disk, for many passes over more than fit in memory.
        """
        is_ready = self.image_network == READY
        require_fitting(images, self.image_network, self.image_width, is_ready)
        if isinstance(images, ImageFeatures):
            return images.values
        assert isinstance(images, Pictures)
        if not self.finetune:
            return self.features(images, context)
        size = self.network.size
        if keep:
            return pixel_store(images, size, progress=context.progress)
        none = np.empty((0, size, size, 3), dtype=np.uint8)
        return np.concatenate([none, *decode_batches(images, size)])

    @property
    def is_pretrained(self) -> bool:
        """Whether the image network has weights before any training."""
        is_ready = self.image_network == READY
        return is_ready or bool(self.image_weights) or self.network.pretrained

    def features(self, images: Images, context: Context) -> NDArray[np.float32]:
        """Give the features of the image network as it was before any training."""
        from fdch.networks.features import frozen_features

        return frozen_features(
            self.image_network,
            Path(self.image_weights) if self.image_weights else None,
            images,
            progress=context.progress,
            device=context.torch_device(),
            remember=context.remember,
        )

    def texts(self, texts: Texts) -> csr_array:
        """Give text vectors, (n, text_width): words, then any static features.

        A text without a word that counts is all zero.
        """
        return fitting_vectors(texts, self.vocabulary, self.text_width)


def _fit_vocabulary(
    texts: Texts, text_features: TextFeatures
) -> tuple[Vocabulary | None, int]:
    """Give the known words, and the columns of the vectors of texts."""
    if not isinstance(texts, Sentences):
        assert isinstance(texts, WordVectors)
        if text_features == STATIC:
            raise SettingError(
                f"text_features '{text_features}' needs texts as sentences or tags; "
                "this data has ready word vectors. Leave text_features out."
            )
        return None, texts.matrix.shape[1]
    vocabulary = texts.vocabulary or Vocabulary.fit(texts)
    if text_features == STATIC or (text_features == AUTO and is_installed()):
        load_embeddings()  # refuses before any work where they are missing
        vocabulary = StaticVocabulary(vocabulary.words)
    return vocabulary, vocabulary.width


def _choose_network(images: Images, name: str, finetune: bool) -> tuple[str, int]:
    from fdch.networks import image as image_networks

    if isinstance(images, ImageFeatures):
        if finetune or name not in ("auto", READY):
            raise SettingError(
                f"the data has ready image features, so image_network '{name}' with "
                f"finetune={finetune} cannot be used. Leave both out, or give pictures."
            )
        return READY, int(images.values.shape[1])
    if name == READY:
        raise SettingError(
            "image_network 'features' needs data with ready features; this data has "
            f"pictures. Choose one of {', '.join(image_networks.names())}."
        )
    network = image_networks.describe(DEFAULT_NETWORK if name == "auto" else name)
    return network.name, network.width


KEY = "inputs"


def inputs_to_arrays(inputs: Inputs) -> dict[str, NDArray[Any]]:
    """Give the inputs as one array of bytes that hold JSON."""
    words = None if inputs.vocabulary is None else list(inputs.vocabulary.words)
    facts = {
        "image_network": inputs.image_network,
        "image_width": inputs.image_width,
        "finetune": inputs.finetune,
        "words": words,
        "static": NAME if inputs.static_width else None,
        "text_width": inputs.text_width,
        "items": inputs.items,
    }
    text = json.dumps(facts, ensure_ascii=False)
    return {KEY: np.frombuffer(text.encode(), dtype=np.uint8)}


def inputs_from_arrays(state: Mapping[str, NDArray[Any]], image_weights: str) -> Inputs:
    """Read what `inputs_to_arrays` gave; a file of weights may have moved since."""
    try:
        facts = json.loads(state[KEY].tobytes())
        vocabulary = restore_vocabulary(
            facts["words"], facts.get("static"), facts["text_width"]
        )
        return Inputs(
            image_network=str(facts["image_network"]),
            image_width=int(facts["image_width"]),
            image_weights=image_weights,
            finetune=bool(facts["finetune"]),
            vocabulary=vocabulary,
            text_width=int(facts["text_width"]),
            items=int(facts["items"]),
        )
    except DataError:  # of the packaged embeddings, not of the state
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise DamagedRun(
            f"the saved state lacks a readable description of its inputs ({problem}). "
            "Train the run again."
        ) from problem
