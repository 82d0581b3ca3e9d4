"""Generated pairs: coloured things in scenes, with captions and labels.

Nothing is downloaded or kept on disk. Row i depends on i alone, so the first
hundred rows of 2,000 are the hundred of 100. The caption leaves out some of
what the picture shows and calls the rest by changing names; the labels know
it all.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fdch.data.pairs import Broken, PairedSet
from fdch.data.pictures.decoding import USUAL_LIMITS, PictureLimits
from fdch.data.pictures.images import PictureArray
from fdch.data.rows import objects
from fdch.data.scenes.drawing import SIDE, draw_scene
from fdch.data.scenes.plans import LABELS, Dice, Plan, Thing, plan_scene
from fdch.data.texts import Sentences
from fdch.errors import SettingError

DEFAULT, MIN_PAIRS, MAX_PAIRS = 2_000, 60, 100_000
NAMES: Mapping[str, Sequence[tuple[str, str]]] = {
    "ball": (("ball", "balls"), ("sphere", "spheres"), ("orb", "orbs")),
    "tree": (("tree", "trees"), ("tree", "trees"), ("oak", "oaks")),
    "green tree": (("tree", "trees"), ("fir", "firs"), ("pine", "pines")),
    "house": (("house", "houses"), ("hut", "huts"), ("cottage", "cottages")),
    "car": (("car", "cars"), ("automobile", "automobiles"), ("sedan", "sedans")),
    "tent": (("tent", "tents"), ("tepee", "tepees")),
    "kite": (("kite", "kites"), ("paper kite", "paper kites")),
    "boat": (("boat", "boats"), ("sailboat", "sailboats"), ("yacht", "yachts")),
}
COLOURS: Mapping[str, Sequence[str]] = {
    "red": ("red", "red", "crimson", "scarlet"),
    "blue": ("blue", "blue", "navy", "sapphire"),
    "yellow": ("yellow", "yellow", "golden"),
    "green": ("green", "green", "emerald"),
    "white": ("white", "white", "pale"),
    "purple": ("purple", "purple", "violet"),
    "orange": ("orange", "orange", "amber"),
}
SMALL, LARGE = ("small", "little", "tiny"), ("large", "big", "huge")
NUMBERS: Mapping[int, Sequence[str]] = {
    2: ("two", "a pair of", "a couple of"),
    3: ("three", "several", "some"),
}
PLACES: Mapping[str, Sequence[str]] = {
    "beach": ("on the beach", "by the sea", "at the seaside", "on the shore",
              "on the sand", "beside the ocean"),
    "meadow": ("in a meadow", "on the grass", "in a field", "in the countryside",
               "on a green pasture"),
    "city": ("in the city", "downtown", "in town", "on a busy street",
             "in front of tall buildings"),
    "lake": ("at the lake", "by the water", "beside a pond", "on the shore",
             "at the reservoir"),
    "mountains": ("in the mountains", "below the peaks", "in the highlands",
                  "among the hills", "under a rocky summit"),
    "snow": ("in the snow", "on a winter plain", "in a frozen land", "in the cold"),
    "desert": ("in the desert", "among the dunes", "on the sand", "in dry land"),
}  # fmt: skip
TIMES: Mapping[str, Sequence[str]] = {
    "day": ("on a sunny day", "at noon", "in the morning", "under a clear sky"),
    "sunset": ("at sunset", "at dusk", "in the evening", "at twilight"),
    "night": ("at night", "after dark", "under the stars", "by moonlight",
              "in the evening"),
}  # fmt: skip
OPENINGS = ("a photo of", "a picture of", "a view of", "we saw", "here is")


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
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PAIRS))
    if not is_number or not MIN_PAIRS <= int(text) <= MAX_PAIRS:
        raise SettingError(
            f"cannot generate '{argument[:40]}' scenes; give a whole number from "
            f"{MIN_PAIRS} to {MAX_PAIRS:,}, such as 'scenes:{DEFAULT}'."
        )
    return int(text)


def _labels(plans: list[Plan]) -> NDArray[np.uint8]:
    named = [plan.labels() for plan in plans]
    return np.array([[name in row for name in LABELS] for row in named], np.uint8)


def write_caption(plan: Plan) -> str:
    """Write a sentence about the plan, leaving out some of what it holds."""
    dice = Dice(3 * plan.row + 2)
    named = [thing for thing in plan.things if not dice.chance(0.15)]
    things = " and ".join(_phrase(t, dice) for t in named or plan.things[:1])
    place = "" if dice.chance(0.15) else dice.one_of(PLACES[plan.place])
    silence = 0.65 if plan.time == "day" else 0.25
    time = "" if dice.chance(silence) else dice.one_of(TIMES[plan.time])
    order = dice.draw({"plain": 0.55, "time first": 0.2, "opened": 0.25})
    if order == "time first":
        parts = [time, things, place]
    elif order == "opened":
        parts = [dice.one_of(OPENINGS), things, place, time]
    else:
        parts = [things, place, time]
    return " ".join(part for part in parts if part)


def _phrase(thing: Thing, dice: Dice) -> str:
    is_fir = thing.kind == "tree" and thing.colour == "green"
    one, many = dice.one_of(NAMES["green tree" if is_fir else thing.kind])
    words = []
    if dice.chance(0.5) and thing.size < 0.9:
        words.append(dice.one_of(SMALL))
    elif dice.chance(0.5) and thing.size > 1.2:
        words.append(dice.one_of(LARGE))
    if dice.chance(0.65):
        words.append(dice.one_of(COLOURS[thing.colour]))
    if thing.count == 1:
        words.append(one)
        article = "an" if words[0][0] in "aeiou" else "a"
        return " ".join([article, *words])
    return " ".join([dice.one_of(NUMBERS[thing.count]), *words, many])
