"""HashMethod: what every method promises."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch import methods
from fdch.codes import Codes, binarize
from fdch.data.conversion import as_images, as_texts
from fdch.data.pairs import PairedSet, require_pairs
from fdch.errors import DataError, NotFitted, SettingError
from fdch.evaluation.histograms import MAX_BITS
from fdch.methods._settings.checks import Settings, require_not_negative
from fdch.methods._settings.space import SearchSpace
from fdch.progress import Progress, show_bars
from fdch.training.context import PLAIN, Context
from fdch.training.inputs import AUTO, STATIC, WORDS, Inputs
from fdch.training.saved_arrays import require_numbers
from fdch.training.saved_inputs import inputs_from_arrays, inputs_to_arrays

if TYPE_CHECKING:
    from fdch.training.ordering import Ordering

Array = NDArray[Any]
ROWS_AT_A_TIME = 4096
PICTURES_AT_A_TIME = 512  # as pixels: 77 MB at 224 x 224


@dataclass(frozen=True)
class About:
    """Where a method comes from and what it needs."""

    paper: str  # title, authors, venue and year
    supervision: str  # what it learns from, such as "labels" or "pairs only"
    unified: bool  # whether it has one code for a whole pair
    image_input: str = "pictures or features"  # or "features"
    # whether pairs without labels teach it too, beside labels where there are any
    uses_unlabelled: bool = False

    @property
    def uses_labels(self) -> bool:
        """Whether it learns from labels, where there are any."""
        return "label" in self.supervision

    @property
    def needs_labels(self) -> bool:
        """Whether it cannot learn from pairs alone."""
        return self.uses_labels and not self.uses_unlabelled


class PairSum(NamedTuple):
    """Outputs of pairs as the sum of a function of each side."""

    image: object  # of the image features
    text: object  # of the text
    threshold: Array | float = 0.0  # what is taken off the sum, (bits,) or one number


@dataclass(eq=False, repr=False)
class HashMethod(Settings, ABC):
    """Learns codes from labelled pairs, then encodes either modality alone.

    A method is a dataclass of its settings, which are checked whenever they are set.
    Making one does no work; `fit` does everything, leaves the settings alone and
    forgets any earlier `fit`. Two methods are equal only if they are the same object.

    Args:
        bits: Length of the codes.
        seed: Where all randomness comes from.
        image_network: Network that turns pictures into features; "auto" takes
            ready features where the data has them, else the packaged network;
            "transformers:DIR" a model folder.
        image_weights: File of that network's weights, where none are packaged.
        text_features: "words" for the words that occur in a text; "words+static"
            adds the mean of packaged word embeddings, of unknown words too (extra
            `static`); "auto" does where that is installed and texts are written. The
            name of a text encoder, or "transformers:DIR", adds its features instead.
    """

    bits: int = 64
    seed: int = 0
    image_network: str = "auto"
    image_weights: str = ""
    text_features: str = AUTO

    about: ClassVar[About]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    search_space: ClassVar[SearchSpace] = {}
    _inputs: ClassVar[Inputs | None] = None
    _min_pairs: ClassVar[int] = 1

    def fit(
        self,
        pairs: PairedSet,
        validation: PairedSet | None = None,
        *,
        device: str | None = None,
        progress: bool | Progress = False,
        context: Context = PLAIN,
    ) -> Self:
        """Learn from training pairs.

        Args:
            pairs: Pairs with both modalities and, for supervised methods, labels.
            validation: Held-out pairs, for methods that make choices while learning:
                FDCH+ chooses how to order results. All others of this package make
                none, and learn the same without them.
            device: Where networks run: "auto", "cpu", "cuda" or "cuda:1".
            progress: True shows a bar for each stage; a function is called with
                each update.
            context: Device, progress and checkpoints together, for commands.
        """
        require_pairs(pairs)
        context = _adapt(context, device, progress)
        has_labels = self.about.uses_labels and bool(pairs.labels.any())
        pairs.require_training(self._min_pairs, self.about.needs_labels or has_labels)
        inputs = Inputs.fit(
            pairs,
            self.image_network,
            self.image_weights,
            getattr(self, "finetune", False),
            self.text_features,
            context,
        )
        self._inputs = inputs  # type: ignore[misc]  # the context's judge may encode
        try:
            self._learn(inputs, pairs, validation, context)
        except BaseException:
            self._inputs = None  # type: ignore[misc]
            raise
        return self

    def encode_images(self, images: Any, context: Context = PLAIN) -> Codes:
        """Encode pictures or image features.

        Args:
            images: The images of pairs, paths of picture files, pixels or features.
            context: Device and progress.
        """
        inputs = self.inputs
        return _by_parts(
            as_images(images),
            lambda part: self.image_outputs(inputs.images(part, context)),
            self.bits,
            PICTURES_AT_A_TIME if inputs.finetune else ROWS_AT_A_TIME,
        )

    def encode_texts(self, texts: Any, context: Context = PLAIN) -> Codes:
        """Encode texts or word vectors.

        Args:
            texts: The texts of pairs, strings or word vectors.
            context: Device and progress.
        """
        inputs = self.inputs
        return _by_parts(
            as_texts(texts),
            lambda part: self.text_outputs(inputs.texts(part)),
            self.bits,
            ROWS_AT_A_TIME,
        )

    def encode_pairs(self, pairs: PairedSet, context: Context = PLAIN) -> Codes:
        """Encode whole pairs to unified codes, where the method has them."""
        inputs = self.inputs
        require_pairs(pairs)
        return _by_parts(
            pairs,
            lambda part: self.pair_outputs(
                inputs.images(part.images, context), inputs.texts(part.texts)
            ),
            self.bits,
            PICTURES_AT_A_TIME if inputs.finetune else ROWS_AT_A_TIME,
        )

    @property
    def name(self) -> str:
        """The name by which commands and tables know the method."""
        return methods.find_name(type(self))

    @property
    def inputs(self) -> Inputs:
        """How pictures and words become numbers; known once fitted."""
        if self._inputs is None:
            raise NotFitted(
                f"this {type(self).__name__} has not learned anything yet. "
                "Call fit(pairs) first, or open a saved run."
            )
        return self._inputs

    @property
    def trained_on(self) -> int:
        """How many pairs it has learned from."""
        return self.inputs.items

    @property
    def chosen(self) -> Mapping[str, str | float]:
        """What the last `fit` chose for settings that were left to the data."""
        if self.text_features != AUTO:
            return {}
        return {"text_features": STATIC if self.inputs.static_width else WORDS}

    @property
    def ordering(self) -> "Ordering | None":
        """What orders candidates beyond the distance of codes; None for nothing."""
        return None

    @property
    def functions(self) -> Mapping[str, object]:
        """The functions behind the outputs, of which an export is made.

        They go by the roles "image", "text" and "pair". There are none where
        outputs come about in another way.
        """
        return {}

    def state(self) -> dict[str, Array]:
        """Return everything learned as plain arrays, in C order as files have it."""
        arrays = inputs_to_arrays(self.inputs) | self._state()
        return {name: np.asarray(array, order="C") for name, array in arrays.items()}

    def restore(self, state: Mapping[str, Array], context: Context = PLAIN) -> Self:
        """Load what `state` returned, in place of `fit`."""
        require_numbers(state)
        inputs = inputs_from_arrays(state, self.image_weights, context)
        self._load_state(inputs, state, context)
        self._inputs = inputs  # type: ignore[misc]
        return self

    def check(self) -> None:
        """Refuse settings of the wrong kind or outside their range."""
        super().check()
        if self.bits < 1:
            raise SettingError(f"bits must be positive; got {self.bits}.")
        if self.bits > MAX_BITS:
            raise SettingError(
                f"bits must be at most {MAX_BITS:,}, which can be scored; "
                f"got {self.bits:,}."
            )
        require_not_negative(self, "seed")

    @abstractmethod
    def image_outputs(self, images: Array) -> NDArray[np.float32]:
        """Return real outputs whose signs are the codes, (n, bits)."""

    @abstractmethod
    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return real outputs whose signs are the codes, (n, bits)."""

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Return real outputs of whole pairs, where the method has unified codes."""
        raise SettingError(
            f"{type(self).__name__} has no unified codes; use the modality gallery."
        )

    @abstractmethod
    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        """Learn from pairs already checked."""

    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """Return what `_learn` learned."""

    @abstractmethod
    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        """Load what `_state` returned."""


def require_method(given: object) -> None:
    """Refuse what is no method, such as the name of a run."""
    if not isinstance(given, HashMethod):
        raise DataError(
            f"a fitted method is needed; got {str(given)[:80]!r}. "
            "open_run('runs/a').method is that of a run."
        )


def _adapt(context: Context, device: str | None, progress: bool | Progress) -> Context:
    """Put a device and a way to show progress in place of a context's own."""
    if device is not None:
        context = replace(context, device=device)
    if progress is True:
        progress = show_bars()
    if progress and not callable(progress):
        raise SettingError(
            "progress is True for bars, or a function that takes an Update; got "
            f"{str(progress)[:80]!r}."
        )
    return replace(context, progress=progress) if progress else context


def _by_parts(
    rows: Any, outputs: Callable[[Any], Array], bits: int, at_a_time: int
) -> Codes:
    """Encode some rows at a time, so that memory stays bounded."""
    empty = Codes(np.zeros((0, (bits + 7) // 8), dtype=np.uint8), bits)
    starts = range(0, len(rows), at_a_time)
    parts = [binarize(outputs(rows[i : i + at_a_time])) for i in starts]
    return Codes.concatenate([empty, *parts])
