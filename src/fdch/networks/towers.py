"""The image side and the text side of model folders, with and without two towers."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fdch.data.extensions import FOLDER, TEXT_ENCODERS, find_extensions, load_extension
from fdch.data.text_encoders import REGISTERED, TextEncoder
from fdch.errors import DataError, SettingError, suggestion
from fdch.networks._base import FeatureNetwork
from fdch.networks.device import resolve_device
from fdch.networks.image_network import ImageNetwork, ModuleNetwork, refuse_weights
from fdch.networks.model_folder import WEIGHTS, ModelFolder

MAX_TOKENS = 512
# parts of models with two towers that only the other side needs
TEXT_PARTS = ("text_model", "text_projection", "logit_scale", "logit_bias")
IMAGE_PARTS = ("vision_model", "visual_projection", "logit_scale", "logit_bias")
IMAGE_FILES = ("config.json", "preprocessor_config.json", "processor_config.json")
TEXT_FILES = ("config.json", "1_Pooling/config.json", "tokenizer*", "vocab*", "*.model")


def describe_image_tower(name: str) -> ImageNetwork:
    """Describe the image side of a model folder."""
    folder = ModelFolder(name)
    scaling = folder.read_scaling()
    width = folder.width("vision_config")

    def build(weights: Path | None, _: torch.Generator) -> FeatureNetwork:
        if weights is not None:
            refuse_weights(name, weights)
        return ModuleNetwork(
            "transformers",
            ImageTower(folder.load(without=TEXT_PARTS)),
            width=width,
            revision=folder.hash_files(*IMAGE_FILES),
            **scaling._asdict(),
        )

    return ImageNetwork(
        name=f"{FOLDER}{folder.path}",
        size=scaling.size,
        width=width,
        description=f"The image side of the model folder '{folder.path}'.",
        pretrained=True,
        advice="",
        build=build,
    )


def describe_text_tower(name: str) -> TextEncoder:
    """Describe the text side of a model folder."""
    folder = ModelFolder(name)
    if not hasattr(getattr(folder.config, "text_config", folder.config), "vocab_size"):
        raise DataError(
            f"the model in '{folder.path}' takes no texts. Choose another folder for "
            "text_features, or leave it out."
        )
    return TextEncoder(
        name=f"{FOLDER}{folder.path}",
        width=folder.width("text_config"),
        revision=folder.hash_files(*TEXT_FILES, WEIGHTS),
        load=lambda device: TextTower(folder, resolve_device(device)).encode,
    )


class ImageTower(nn.Module):
    """The image side of a model: planes to features."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, planes: Tensor) -> Tensor:
        """Turn planes (batch, 3, size, size) into features (batch, width)."""
        compute = getattr(self.model, "get_image_features", self.model)
        found = compute(pixel_values=planes)
        if found.pooler_output is not None:
            return found.pooler_output
        return found.last_hidden_state[:, 0]


class TextTower:
    """The text side of a model on a device: texts to features of length 1.

    A model with two towers has features of whole texts; of others the mean over all
    tokens is taken, or the first token where the folder says so.
    """

    def __init__(self, folder: ModelFolder, device: torch.device) -> None:
        self._tokenizer = folder.load_tokenizer()
        self._model = folder.load(without=IMAGE_PARTS).to(device)
        self._device, self._takes_first = device, folder.pools_first_token()
        text = getattr(folder.config, "text_config", folder.config)
        positions = getattr(text, "max_position_embeddings", MAX_TOKENS)
        # SigLIP learned from texts filled up to one length
        is_filled = folder.config.model_type.startswith("siglip")
        self._options = {
            "padding": "max_length" if is_filled else True,
            "truncation": True,
            "max_length": min(self._tokenizer.model_max_length, positions, MAX_TOKENS),
            "return_tensors": "pt",
        }
        self._lock = threading.Lock()  # a tokenizer serves one thread at a time

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return features, (texts, width)."""
        with self._lock:
            tokens = self._tokenizer(list(texts), **self._options).to(self._device)
        return functional.normalize(self._pool(tokens)).cpu().numpy()

    def _pool(self, tokens: Any) -> Tensor:
        if hasattr(self._model, "get_text_features"):
            return self._model.get_text_features(**tokens).pooler_output
        states = self._model(**tokens).last_hidden_state  # (texts, tokens, width)
        if self._takes_first:
            return states[:, 0]
        mask = tokens["attention_mask"][:, :, None]
        return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def find_text_encoder(name: str, others: tuple[str, ...] = ()) -> TextEncoder:
    """Look a text encoder up by its name, or by "transformers:DIR".

    `others` are what else the setting may be, for the message.
    """
    if name in REGISTERED:
        return REGISTERED[name]
    if name.startswith(FOLDER):
        return describe_text_tower(name)
    found = load_extension(TEXT_ENCODERS, name, TextEncoder)
    if found is None:
        known = sorted({*others, *REGISTERED, *find_extensions(TEXT_ENCODERS)})
        raise SettingError(
            f"unknown text_features '{name}'{suggestion(name, known) or '.'} "
            f"Known are: {', '.join(known)}; or write {FOLDER}DIR for a model folder."
        )
    return replace(found, name=name)
