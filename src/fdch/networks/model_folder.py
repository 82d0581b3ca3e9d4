"""Model folders of `transformers`: CLIP, SigLIP, DINOv2 and sentence encoders.

Everything is read from the folder: nothing is downloaded, weights are safetensors,
and code that a folder may carry is never run.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import torch

from fdch.data.extensions import find_folder
from fdch.errors import DataError, MissingExtra, MissingFile
from fdch.files import checksum, fingerprint, load_json

MAX_JSON_BYTES = 16 * 2**20
MAX_SIZE = 2048
WEIGHTS = "*.safetensors"


class Scaling(NamedTuple):
    """How a model takes pictures: their side, and what pixels are scaled by."""

    size: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]


class ModelFolder:
    """A folder that `save_pretrained` of transformers wrote, named "transformers:DIR".

    Raises:
        MissingFile: The folder, its description or its weights are not there.
        MissingExtra: The package transformers is not installed.
    """

    def __init__(self, name: str) -> None:
        self.path = find_folder(name)
        _import()
        if not any(self.path.glob(WEIGHTS)):
            raise MissingFile(
                f"the model folder '{self.path}' has no weights as .safetensors; other "
                "kinds are not read. Save the model with save_pretrained()."
            )

    @cached_property
    def config(self) -> Any:
        """The model's description, as transformers understands it."""
        with self._reading("config.json"):
            found = _import().AutoConfig.from_pretrained(
                self.path, local_files_only=True, trust_remote_code=False
            )
        found._attn_implementation = None  # else a name of code on a server counts
        return found

    def width(self, side: str) -> int:
        """Return the number of features of a tower, or of a model without towers.

        A side is "vision_config" or "text_config".
        """
        tower = getattr(self.config, side, None)
        with self._reading("config.json"):
            if tower is None:
                return int(self.config.hidden_size)
            shared = getattr(self.config, "projection_dim", None)  # of CLIP
            return int(shared or getattr(tower, "projection_size", tower.hidden_size))

    def load(self, without: Sequence[str]) -> Any:
        """Load the model in float32 and evaluation mode, without some parts."""
        with self._reading("weights"), _without_bars():
            model, report = _import().AutoModel.from_pretrained(
                self.path,
                config=self.config,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
        missing = sorted(report["missing_keys"])
        if any(not name.startswith("pooler.") for name in missing):
            raise DataError(
                f"the weights in '{self.path}' lack '{missing[0]}', which the model "
                "needs. Save the whole model again."
            )
        if missing:
            model.pooler = None
        for part in without:
            if hasattr(model, part):
                delattr(model, part)
        return model.eval()

    def load_tokenizer(self) -> Any:
        """Load the tokenizer."""
        with self._reading("tokenizer"):
            return _import().AutoTokenizer.from_pretrained(
                self.path, local_files_only=True, trust_remote_code=False
            )

    def read_scaling(self) -> Scaling:
        """Read how the model takes pictures; DataError where the folder lacks that."""
        found: Any = self._read_json("preprocessor_config.json")
        found = found or self._read_json("processor_config.json").get("image_processor")
        try:
            return _parse_scaling(found)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise DataError(
                f"the model folder '{self.path}' does not say how it takes pictures "
                f"({problem!r}). Save its image processor there with save_pretrained()."
            ) from problem

    def hash_files(self, *patterns: str) -> str:
        """Return a hash of the content of some files, to distinguish folders."""
        files = sorted({file for each in patterns for file in self.path.glob(each)})
        return fingerprint([[file.name, checksum(file)] for file in files])

    def pools_first_token(self) -> bool:
        """Return whether a sentence encoder takes the first token, not the mean."""
        pooling = self._read_json("1_Pooling/config.json")
        return bool(pooling.get("pooling_mode_cls_token"))

    def _read_json(self, name: str) -> dict[str, Any]:
        path = self.path / name
        with self._reading(name):
            return load_json(path, MAX_JSON_BYTES) if path.exists() else {}

    @contextmanager
    def _reading(self, part: str) -> Iterator[None]:
        try:
            yield
        except Exception as problem:  # transformers raises many kinds
            reason = str(problem).strip().partition("\n")[0]
            raise DataError(
                f"the model folder '{self.path}' cannot be used: {part}: {reason} "
                "Save the model there again with save_pretrained()."
            ) from problem


def _import() -> Any:
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise MissingExtra("a model folder of transformers", "transformers") from error
    return transformers


@contextmanager
def _without_bars() -> Iterator[None]:
    from transformers.utils import logging

    is_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if is_shown:
            logging.enable_progress_bar()


def _parse_scaling(processor: Any) -> Scaling:
    """Read what an image processor of transformers says."""
    size = processor.get("crop_size") or processor["size"]
    if isinstance(size, dict):
        size = size.get("height") or size["shortest_edge"]
    mean: tuple[float, ...] = (0.0,) * 3
    deviation: tuple[float, ...] = (1.0,) * 3
    if processor.get("do_normalize", True):
        mean = tuple(map(float, processor["image_mean"]))
        deviation = tuple(map(float, processor["image_std"]))
    if not 1 <= size <= MAX_SIZE:
        raise ValueError(f"pictures of {size} pixels")
    if len(mean) != 3 or len(deviation) != 3 or min(deviation) <= 0:
        raise ValueError(f"mean {mean}, deviation {deviation}")
    if not math.isclose(
        processor.get("rescale_factor", 1 / 255), 1 / 255, rel_tol=0.01
    ):
        raise ValueError("a rescale_factor other than 1/255")
    return Scaling(int(size), mean, deviation)
