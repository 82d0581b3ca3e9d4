"""What methods with one hash function to each side share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.methods._base import Array, HashMethod
from fdch.training.closed_form import LinearMap
from fdch.training.context import Context
from fdch.training.inputs import Inputs

SIDES = ("image", "text")


class HashFunction(Protocol):
    """Rows to outputs, (n, d) to (n, bits), kept as arrays under a name."""

    def __call__(self, rows: Any, /) -> NDArray[Any]:
        """Map rows, dense or sparse."""

    def to_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return everything as arrays."""

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, int]
    ) -> Self:
        """Take what `to_arrays` gave."""


@dataclass
class ShallowMethod(HashMethod):
    """A method that learns one hash function of images and one of texts.

    `_learn` leaves them in `_hash`, under "image" and "text"; what is below needs
    no more than their kind.
    """

    function: ClassVar[type[HashFunction]] = LinearMap

    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Return the hash function of images."""
        return np.asarray(self._hash["image"](images), np.float32)

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return the hash function of texts."""
        return np.asarray(self._hash["text"](texts), np.float32)

    @property
    def functions(self) -> Mapping[str, object]:
        """The hash function of each side."""
        return self._hash

    def _state(self) -> dict[str, Array]:
        image, text = (self._hash[side].to_arrays(side) for side in SIDES)
        return image | text

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        widths = {"image": inputs.image_width, "text": inputs.text_width}
        self._hash: Mapping[str, HashFunction] = {
            side: self.function.from_arrays(state, side, (widths[side], self.bits))
            for side in SIDES
        }
