"""Captions for scene plans, as people write them: synonyms, gaps, word order."""

from collections.abc import Mapping, Sequence

from fdch.data.scenes.plans import Dice, Plan, Thing

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


def write_caption(plan: Plan) -> str:
    """Write a sentence about the plan, leaving out some of what it holds."""
    dice = Dice(3 * plan.row + 2)
    named = [thing for thing in plan.things if not dice.chance(0.15)]
    things = " and ".join(_phrase(t, dice) for t in named or plan.things[:1])
    place = "" if dice.chance(0.15) else dice.one_of(PLACES[plan.place])
    silence = 0.65 if plan.time == "day" else 0.25
    time = "" if dice.chance(silence) else dice.one_of(TIMES[plan.time])
    order = dice.weighted({"plain": 0.55, "time first": 0.2, "opened": 0.25})
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
