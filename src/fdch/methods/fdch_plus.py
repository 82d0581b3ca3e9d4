"""FDCH+: the codes of FDCH, plus a few bytes per item that re-rank results.

FDCH learns which pairs share a label, so all beaches get one code. Stage 3 trains two
more networks per modality. The first predicts the probability of each label, from which
follows how probably two items share one. The second learns from the pairs alone, with
or without labels, to find the other half of each pair (InfoNCE); it can tell two
beaches apart. Their outputs are quantised to 8 bytes beside the code.

Pairs without labels are used in all stages. The fusion network of stage 1 computes
their codes, which stage 2 imitates, and their similarity to other pairs; in stage 3
both modalities together estimate their labels. Without any labels, codes learn from
the pairs alone. Not in the paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from fdch.data.pairs import PairedSet
from fdch.errors import SettingError
from fdch.index.store import MAX_VECTOR_BYTES
from fdch.methods._base import About, Array
from fdch.methods._settings.checks import require_positive
from fdch.methods._settings.space import Range, SearchSpace
from fdch.methods.fdch import FDCH
from fdch.objectives.contrastive import contrastive_loss
from fdch.objectives.label_likelihood import label_likelihood
from fdch.objectives.quantization import binary
from fdch.objectives.reduction import add_weighted
from fdch.training.batches import TrainingPairs
from fdch.training.context import Context
from fdch.training.inputs import Inputs
from fdch.training.joint import JointOutputs, JointStage
from fdch.training.ordering import to_units
from fdch.training.pair_ordering import (
    LABEL_WEIGHTS,
    MAX_COMPARED,
    MAX_FITTED,
    PAIR_WEIGHTS,
    USUAL_WEIGHTS,
    PairOrdering,
    Weights,
    choose_rows,
    choose_weights,
)
from fdch.training.saved_arrays import take
from fdch.training.two_stage import ModalityWeights


@dataclass
class FDCHPlus(FDCH):
    """FDCH with bytes that re-rank candidates; also learns from unlabelled pairs.

    >>> FDCHPlus(bits=64).bytes_per_item, FDCHPlus(bits=128).bytes_per_item
    (16, 24)

    Args:
        contrastive_weight: Weight of finding the other half of a pair in stage 2.
        contrastive_temperature: What cosines are divided by there.
        label_bytes: Bytes per item that describe its labels; 0 for none.
        label_epochs: Epochs of their networks; by default 40, or more on small data.
        pair_bytes: Bytes per item that distinguish it from others; 0 for none.
        pair_width: Outputs of their networks, which are quantised to these bytes.
        pair_epochs: Epochs of their networks; by default 60, or more on small data.
        shared_weight: Weight of shared labels in the ranking; codes weigh 1. By
            default the best on validation pairs, or 1 if these are fewer than 100.
        pair_weight: Weight of likeness in the ranking; by default the best on
            validation pairs, by labels and partners, or 0.5 if these are fewer than
            100.
        pair_decay: Decay of the weights of these networks.
        pair_image_dropout: Share of image features dropped in them.
        pair_word_dropout: Share of words dropped in them.
        temperature: What cosines of pairs are divided by.
        pull_weight: Weight of pulling outputs to -1 or +1 in codes that learn from
            pairs alone.
    """

    contrastive_weight: float = 0.1
    contrastive_temperature: float = 0.1
    label_bytes: int = 3
    label_epochs: int | None = None
    pair_bytes: int = 5
    pair_width: int = 128
    pair_epochs: int | None = None
    shared_weight: float | None = None
    pair_weight: float | None = None
    pair_decay: float = 0.1
    pair_image_dropout: float = 0.5
    pair_word_dropout: float = 0.3
    temperature: float = 0.07
    pull_weight: float = 0.5

    about: ClassVar[About] = replace(
        FDCH.about,
        paper=FDCH.about.paper + " (extended: orders candidates, uses pairs without "
        "labels)",
        supervision="labels where there are any",
        uses_unlabelled=True,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # a pair's other half first, rather than items that share its labels
        "partners": {"shared_weight": 1.0, "pair_weight": 2.8},
    }
    search_space: ClassVar[SearchSpace] = {
        **FDCH.search_space,
        "temperature": Range(0.03, 0.2, log=True),
    }

    def check(self) -> None:
        """Refuse settings outside their range."""
        super().check()
        require_positive(self, "temperature", "contrastive_temperature")
        for name in ("label_bytes", "pair_bytes"):
            if getattr(self, name) < 0:
                raise SettingError(
                    f"{name} must be 0 or more; got {getattr(self, name)}."
                )
        if self.label_bytes + self.pair_bytes > MAX_VECTOR_BYTES:
            raise SettingError(
                f"an index keeps {MAX_VECTOR_BYTES:,} bytes an item beside its code; "
                f"got label_bytes={self.label_bytes} and pair_bytes={self.pair_bytes}."
            )

    @property
    def bytes_per_item(self) -> int:
        """Bytes that an index stores per item: its code and its vector."""
        return (self.bits + 7) // 8 + self.label_bytes + self.pair_bytes

    @property
    def ordering(self) -> PairOrdering | None:
        """Re-ranks candidates; None without bytes, and while codes are trained."""
        self.inputs  # noqa: B018  refuses one that is not fitted
        found: PairOrdering | None = getattr(self, "_ordering", None)
        return found if found is not None and found.bytes else None

    @property
    def chosen(self) -> Mapping[str, str | float]:
        """What the last `fit` chose for settings that were left to the data."""
        ordering, found = self.ordering, dict(super().chosen)
        if ordering is None:
            return found
        if self.pair_weight is None and len(ordering.pair_books):
            found["pair_weight"] = ordering.weights.pairs
        if self.shared_weight is None and len(ordering.label_books):
            found["shared_weight"] = ordering.weights.labels
        return found

    @property
    def functions(self) -> Mapping[str, nn.Module]:
        """The networks that give codes."""
        roles = ("image", "text", "pair") if self._classes else ("image", "text")
        return {role: self._networks[role] for role in roles}

    def pair_outputs(self, images: Array, texts: csr_array) -> NDArray[np.float32]:
        """Return H; without labels the sum of both sides, each of length 1."""
        if self._classes:
            return super().pair_outputs(images, texts)
        return to_units(self.image_outputs(images)) + to_units(self.text_outputs(texts))

    def _build(
        self, inputs: Inputs, generator: torch.Generator
    ) -> dict[str, nn.Module]:
        networks = super()._build(inputs, generator)
        if self.label_bytes and self._classes:
            networks["label_image"] = self._image_network(
                inputs, self._classes, generator
            )
            networks["label_text"] = self._text_network(
                inputs, self._classes, generator
            )
        if self.pair_bytes:
            # a hidden layer over images would memorise the pairs
            networks["pair_image"] = self._image_network(
                inputs, self.pair_width, generator, 0, self.pair_image_dropout
            )
            networks["pair_text"] = self._text_network(
                inputs, self.pair_width, generator, self.pair_word_dropout
            )
        return networks

    def _learn(
        self,
        inputs: Inputs,
        pairs: PairedSet,
        validation: PairedSet | None,
        context: Context,
    ) -> None:
        self._classes = pairs.labels.shape[1] if pairs.labels.any() else 0
        vars(self).pop("_ordering", None)  # of an earlier fit
        super()._learn(inputs, pairs, validation, context)
        some = pairs[choose_rows(len(pairs), MAX_FITTED)]
        sides = inputs.images(some.images, context), inputs.texts(some.texts)
        sizes = self.label_bytes, self.pair_bytes
        ordering = PairOrdering.fit(
            self._networks, sizes, *sides, pairs.labels, self.seed
        )
        ordering.weights = self._choose_weights(ordering, inputs, validation, context)
        self._ordering = ordering

    def _choose_weights(
        self,
        ordering: PairOrdering,
        inputs: Inputs,
        validation: PairedSet | None,
        context: Context,
    ) -> Weights:
        """Choose weights that are left to the data, on validation pairs."""
        labels, pairs = self.shared_weight, self.pair_weight
        weights = None
        if validation is not None and len(validation) and None in (labels, pairs):
            some = validation[choose_rows(len(validation), MAX_COMPARED)]
            sides = inputs.images(some.images, context), inputs.texts(some.texts)
            weights = choose_weights(
                ordering,
                *sides,
                some.labels,
                LABEL_WEIGHTS if labels is None else (labels,),
                PAIR_WEIGHTS if pairs is None else (pairs,),
            )
        usual = weights or USUAL_WEIGHTS
        return Weights(
            usual.labels if labels is None else labels,
            usual.pairs if pairs is None else pairs,
        )

    def _train(
        self, training: TrainingPairs, pairs: PairedSet, context: Context
    ) -> None:
        is_labelled = np.asarray(pairs.labels.any(axis=1))
        self._stage_one_task = self._describe_stage_one(pairs)
        if not self._classes:
            self._contrast("", self.pull_weight, training, context)
        elif is_labelled.all():
            self._stage_two(training, self._stage_one(training, context), context)
        else:
            known = training.select(np.flatnonzero(is_labelled))
            self._stage_one(known, context)
            H = self._all_outputs(training.tuning or training)
            self._stage_two(training, binary(H), context, H)
        # codes no longer change, so there is nothing to judge
        quiet = replace(context, judge=None)
        if "label_image" in self._networks:
            self._learn_labels(training, is_labelled, quiet)
        if self.pair_bytes:
            self._contrast("pair_", 0.0, training, quiet)

    def _modality_weights(self) -> ModalityWeights:
        return replace(
            super()._modality_weights(),
            contrastive=self.contrastive_weight,
            temperature=self.contrastive_temperature,
        )

    def _all_outputs(self, training: TrainingPairs) -> Tensor:
        """Return H of all pairs, most of which stage 1 has not seen."""
        network = self._networks["pair"]
        return training.outputs(
            lambda rows: network(training.images(rows), training.texts(rows)), [network]
        )

    def _learn_labels(
        self, training: TrainingPairs, is_labelled: NDArray[np.bool_], context: Context
    ) -> None:
        """Train the networks of label probabilities.

        Pairs without labels are left out at first. Then both sides estimate their
        labels together, and each side learns from that.
        """
        image, text = self._networks["label_image"], self._networks["label_text"]

        def run(part: TrainingPairs, Y: Tensor, name: str) -> JointStage:
            def build(inputs: TrainingPairs) -> JointStage:
                stage = JointStage(inputs, image, text, LabelLoss(Y), is_bounded=False)
                stage.name = name
                return stage

            return self._run(build, part, (self.label_epochs, 40), context)

        known, Y = training, training.labels
        if not is_labelled.all():
            known = training.select(np.flatnonzero(is_labelled))
        run(known, known.labels, "stage 3, labels")
        if is_labelled.all():
            return
        whole = JointStage(training, image, text, LabelLoss(Y), is_bounded=False)
        prior = known.labels.mean(dim=0).clamp(1e-4, 1 - 1e-4).logit()
        supposed = torch.sigmoid(whole.F + whole.G - prior)
        has_label = Y.any(dim=1, keepdim=True)
        run(training, torch.where(has_label, Y, supposed), "stage 3, all labels")

    def _contrast(
        self, role: str, pull: float, training: TrainingPairs, context: Context
    ) -> None:
        """Train an image and a text network on the pairs alone."""
        loss = PairLoss(self.temperature, pull)
        image, text = self._networks[role + "image"], self._networks[role + "text"]

        def build(part: TrainingPairs) -> JointStage:
            stage = JointStage(part, image, text, loss, is_bounded=False)
            stage.name = "stage 3, pairs" if role else "stage 1"
            return stage

        epochs = (self.pair_epochs, 60)
        self._run(build, training, epochs, context, self.pair_decay)

    def _state(self) -> dict[str, Array]:
        return {
            "classes": np.array([self._classes]),
            **self._ordering.to_arrays(),
            **super()._state(),
        }

    def _load_state(
        self, inputs: Inputs, state: Mapping[str, Array], context: Context
    ) -> None:
        self._classes = int(take(state, "classes", 1, kind="i")[0])
        super()._load_state(inputs, state, context)
        labels = (self.label_bytes, self._classes) if self._classes else (0, 0)
        self._ordering = PairOrdering.from_arrays(
            self._networks, state, labels, (self.pair_bytes, self.pair_width)
        )


class PairLoss(nn.Module):
    """The contrastive loss between the two halves of each pair in a batch.

    `pull` weighs the distance of outputs to -1 or +1, for codes.
    """

    def __init__(self, temperature: float, pull: float = 0.0) -> None:
        super().__init__()
        self.temperature, self.pull = temperature, pull

    def forward(self, outputs: JointOutputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, a sum of means, and its terms."""
        F, G = outputs.F, outputs.G
        terms = {"contrastive": (1.0, contrastive_loss(F, G, self.temperature))}
        if self.pull:
            apart = (F.abs() - 1).square().mean() + (G.abs() - 1).square().mean()
            terms["pull"] = (self.pull, apart)
        return add_weighted(terms)


class LabelLoss(nn.Module):
    """The likelihood of each pair's labels, by each modality.

    Y are the labels of all training pairs, or how probable they are, (n, classes).
    """

    def __init__(self, Y: Tensor) -> None:
        super().__init__()
        self._Y = Y

    def forward(self, outputs: JointOutputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, a sum of means, and its terms."""
        Y = self._Y[outputs.rows]
        return add_weighted(
            {
                "image labels": (1.0, label_likelihood(outputs.F, Y)),
                "text labels": (1.0, label_likelihood(outputs.G, Y)),
            }
        )
