"""Generated pairs: coloured things in scenes, with captions and labels.

Nothing is downloaded or kept on disk. Row i depends on i alone, so the first
hundred rows of 2,000 are the hundred of 100. The caption leaves out some of
what the picture shows and calls the rest by changing names; the labels know
it all.
"""

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.decoding import USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import PictureArray
from fdch.data.rows import objects
from fdch.data.scenes.captions import write_caption
from fdch.data.scenes.drawing import SIDE, draw_scene
from fdch.data.scenes.plans import LABELS, Plan, plan_scene
from fdch.data.texts import Sentences
from fdch.errors import SettingError

DEFAULT, FEWEST, MOST = 2_000, 60, 100_000


def read(
    argument: str, *, broken: Broken = "refuse", limits: PictureLimits = USUAL_LIMITS
) -> PairedSet:
    """Generate 60 to 100,000 pairs; an empty argument stands for 2,000.

    >>> read("60").texts.values[1]
    'we saw a sedan on the beach'
    """
    del broken, limits  # no row is ever broken, and pictures are small
    plans = [plan_scene(row) for row in range(_count(argument))]
    pixels = np.empty((len(plans), SIDE, SIDE, 3), dtype=np.uint8)
    for row, plan in enumerate(plans):
        pixels[row] = draw_scene(plan)
    return PairedSet(
        ids=objects([f"scene{plan.row}" for plan in plans]),
        images=PictureArray(pixels),
        texts=Sentences([write_caption(plan) for plan in plans]),
        labels=_labels(plans),
        label_names=LABELS,
        columns={
            "scene": objects([plan.place for plan in plans]),
            "time": objects([plan.time for plan in plans]),
            "objects": objects([sum(t.count for t in plan.things) for plan in plans]),
        },
        name="scenes",
    )


def _count(argument: str) -> int:
    text = argument.strip().replace(",", "").replace("_", "")
    if not text:
        return DEFAULT
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MOST))
    if not is_number or not FEWEST <= int(text) <= MOST:
        raise SettingError(
            f"cannot generate '{argument[:40]}' scenes; give a whole number from "
            f"{FEWEST} to {MOST:,}, such as 'scenes:{DEFAULT}'."
        )
    return int(text)


def _labels(plans: list[Plan]) -> NDArray[np.uint8]:
    named = [plan.labels() for plan in plans]
    return np.array([[name in row for name in LABELS] for row in named], np.uint8)
