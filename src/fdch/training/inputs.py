"""How pictures and words become numbers: fitted with a method and saved with it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.data.extensions import IMAGE_NETWORKS, TEXT_ENCODERS, find_package
from fdch.data.fitting import fitting_vectors, require_fitting
from fdch.data.pairs import PairedSet
from fdch.data.pictures.batches import decode_batches, pixel_store
from fdch.data.pictures.images import ImageFeatures, Images, Pictures
from fdch.data.static_words import StaticVocabulary, is_installed, load_embeddings
from fdch.data.text_encoders import EncodedVocabulary
from fdch.data.texts import Sentences, Texts, Vocabulary, WordVectors
from fdch.errors import DamagedRun, SettingError
from fdch.training.context import PLAIN, Context

if TYPE_CHECKING:
    from fdch.networks.image_network import ImageNetwork

DEFAULT_NETWORK = "efficientnet_lite0"
READY = "features"
AUTO, WORDS, STATIC = "auto", "words", "words+static"


@dataclass(frozen=True)
class Inputs:
    """What turns pictures and texts into the arrays that methods learn from."""

    image_network: str  # name of the image network, or "features" for ready ones
    image_width: int  # columns of ready features, or the network's output width
    image_weights: str  # file of the network's weights; empty for the packaged ones
    finetune: bool  # pictures are handed on as pixels, for a network that is trained
    vocabulary: Vocabulary | None  # the known words; None for ready word vectors
    text_width: int  # columns of the word vectors, static ones included
    items: int  # training pairs that all this was fitted on
    # of a frozen image network that is not ours: features of another are refused
    image_fingerprint: str = ""

    @classmethod
    def fit(
        cls,
        pairs: PairedSet,
        image_network: str = "auto",
        image_weights: str = "",
        finetune: bool = False,
        text_features: str = AUTO,
        context: Context = PLAIN,
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
        vocabulary, text_width = _fit_vocabulary(pairs.texts, text_features, context)
        is_kept = finetune or name == READY
        return cls(
            image_network=name,
            image_width=width,
            image_weights=image_weights,
            finetune=finetune,
            vocabulary=vocabulary,
            text_width=text_width,
            items=len(pairs),
            image_fingerprint="" if is_kept else _hash_network(name, context),
        )

    @property
    def network(self) -> "ImageNetwork":
        """The image network, of methods that look at pictures."""
        # not above: what an index holds is known without torch
        from fdch.networks import image as image_networks

        found = image_networks.describe(self.image_network)
        if found.width != self.image_width:
            raise DamagedRun(
                f"the image network '{found.name}' gives {found.width} features; the "
                f"saved state takes {self.image_width}. Train the run again."
            )
        return found

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
        """Return features, float32 (n, width), or pixels, uint8 (n, size, size, 3).

        All rows must have an image. With `keep`, pixels lie on disk, for many passes
        over more than fit in memory.
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
        """Return the features of the image network as it is before any training."""
        from fdch.networks.features import frozen_features

        self.network  # noqa: B018  refuses one of another width
        return frozen_features(
            self.image_network,
            Path(self.image_weights) if self.image_weights else None,
            images,
            progress=context.progress,
            device=context.torch_device(),
            remember=context.remember,
            expected=self.image_fingerprint,
        )

    def texts(self, texts: Texts, *, remember: bool = True) -> csr_array:
        """Return text vectors, (n, text_width): words, then any static features.

        A text without a word that counts is all zero. With `remember`, an encoder's
        features are kept in the cache folder.
        """
        width = self.text_width
        return fitting_vectors(texts, self.vocabulary, width, remember=remember)

    @property
    def packages(self) -> list[str]:
        """The packages with the networks and encoders that are not ours."""
        found = [find_package(IMAGE_NETWORKS, self.image_network)]
        if isinstance(self.vocabulary, EncodedVocabulary):
            found.append(find_package(TEXT_ENCODERS, self.vocabulary.encoder.name))
        return [name for name in found if name is not None]


def _fit_vocabulary(
    texts: Texts, text_features: str, context: Context
) -> tuple[Vocabulary | None, int]:
    """Return the known words, and the columns of the vectors of texts."""
    if not isinstance(texts, Sentences):
        assert isinstance(texts, WordVectors)
        if text_features not in (AUTO, WORDS):
            raise SettingError(
                f"text_features '{text_features}' needs texts as sentences or tags; "
                "this data has ready word vectors. Leave text_features out."
            )
        return None, texts.matrix.shape[1]
    vocabulary = texts.vocabulary or Vocabulary.fit(texts)
    if text_features not in (AUTO, WORDS, STATIC):
        vocabulary = encode_vocabulary(vocabulary.words, text_features, context)
    elif text_features == STATIC or (text_features == AUTO and is_installed()):
        load_embeddings()  # refuses before any work where they are missing
        vocabulary = StaticVocabulary(vocabulary.words)
    return vocabulary, vocabulary.width


def encode_vocabulary(
    words: tuple[str, ...], encoder: str, context: Context
) -> EncodedVocabulary:
    """Join known words with a text encoder, by its name."""
    from fdch.networks.towers import find_text_encoder

    found = find_text_encoder(encoder, (AUTO, WORDS, STATIC))
    return EncodedVocabulary(words, found, context.device, context.progress)


def _hash_network(name: str, context: Context) -> str:
    """Identify an image network of another package, beside its name."""
    from fdch.networks import image as image_networks
    from fdch.networks.features import FeatureExtractor

    if name in image_networks.NETWORKS:
        return ""
    return FeatureExtractor(name, device=context.torch_device()).network.fingerprint


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
