import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.data.scenes import scene_pairs as synthetic
from fdch.data.scenes.backgrounds import PAINTERS, paint_place
from fdch.data.scenes.canvas import Canvas, shade
from fdch.data.scenes.drawing import DRAWERS, PAINT, SIDE, draw_scene
from fdch.data.scenes.plans import (
    KINDS,
    LABELS,
    PLACES,
    TIMES,
    Dice,
    Plan,
    Thing,
    plan_scene,
)
from fdch.data.scenes.scene_pairs import NAMES, write_caption
from fdch.errors import SettingError

rows = st.integers(0, 100_000)


@pytest.fixture(scope="module")
def scenes():
    return synthetic.read("600")


def test_default_is_two_thousand():
    assert synthetic._count("") == 2000


@pytest.mark.parametrize("text", ["60", " 60 ", "2,000", "100_000"])
def test_counts_are_written_as_people_write_them(text):
    assert 60 <= synthetic._count(text) <= 100_000


@pytest.mark.parametrize(
    "text", ["59", "100001", "-70", "7e2", "many", "9" * 30, "0" * 9 + "100", "²²²"]
)
def test_other_counts_are_refused_with_the_range(text):
    with pytest.raises(SettingError, match="from 60 to 100,000"):
        synthetic.read(text)


def test_pictures_captions_labels_and_columns_go_row_by_row(scenes):
    assert len(scenes) == 600
    assert scenes.ids[42] == "scene42"
    assert scenes.images.content(42).shape == (SIDE, SIDE, 3)
    assert scenes.labels.shape == (600, 16)
    assert set(scenes.columns) == {"scene", "time", "objects"}
    plan = plan_scene(42)
    assert scenes.columns["scene"][42] == plan.place
    assert scenes.columns["objects"][42] == sum(t.count for t in plan.things)
    named = {LABELS[c] for c in np.flatnonzero(scenes.labels[42])}
    assert named == plan.labels()
    scenes.require_training()


def test_a_row_is_the_same_however_many_are_requested(scenes):
    few = synthetic.read("60")
    assert few.fingerprint == scenes[:60].fingerprint


def test_plans_stay_as_they_are_from_version_to_version():
    assert plan_scene(1) == Plan(1, "beach", "day", (plan_scene(1).things[0],))
    assert plan_scene(1).things[0].kind == "car"
    assert write_caption(plan_scene(1)) == "we saw a sedan on the beach"


def test_chance_leaves_room_above_and_below():
    labels = np.array(
        [[n in plan_scene(i).labels() for n in LABELS] for i in range(1500)]
    )
    share = (labels.astype(int) @ labels.T.astype(int) > 0).mean()
    assert 0.3 < share < 0.5


def test_label_frequencies_are_uneven_but_none_is_rare(scenes):
    frequency = scenes.labels.mean(axis=0)
    assert frequency.min() > 0.03
    assert frequency.max() > 3 * frequency.min()


def test_captions_use_a_hundred_to_a_hundred_and_fifty_words():
    captions = [write_caption(plan_scene(row)) for row in range(2000)]
    words = {word for caption in captions for word in re.findall(r"\w+", caption)}
    assert 100 <= len(words) <= 150
    assert len(set(captions)) > 1800


def test_captions_leave_out_some_things_and_never_all():
    silent = 0
    for row in range(300):
        plan, caption = plan_scene(row), write_caption(plan_scene(row))
        mentioned = [thing for thing in plan.things if _is_mentioned(thing, caption)]
        assert mentioned, caption
        silent += len(mentioned) < len(plan.things)
    assert 10 < silent < 150


def _is_mentioned(thing, caption):
    names = (*NAMES[thing.kind], *NAMES.get(f"green {thing.kind}", ()))
    words = {word for pair in names for word in pair}
    return any(re.search(rf"\b{word}\b", caption) for word in words)


@given(rows)
def test_every_plan_is_drawn_and_described(row):
    plan = plan_scene(row)
    assert 1 <= len(plan.things) <= 3
    assert len({thing.kind for thing in plan.things}) == len(plan.things)
    picture = draw_scene(plan)
    assert picture.shape == (64, 64, 3)
    assert picture.dtype == np.uint8
    assert picture.std() > 8
    assert np.array_equal(picture, draw_scene(plan))
    assert write_caption(plan) == write_caption(plan)


@given(rows)
def test_boats_are_seen_only_where_there_is_water(row):
    plan = plan_scene(row)
    if "boat" in plan.labels():
        assert plan.place in ("beach", "lake")


@given(rows)
def test_articles_fit_the_next_word(row):
    caption = write_caption(plan_scene(row))
    assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", caption)


def test_all_kinds_places_and_times_can_be_drawn():
    assert set(DRAWERS) == set(KINDS)
    assert set(PAINTERS) == set(PLACES)
    for place in PLACES:
        for time in TIMES:
            _, ground = paint_place(place, time, Dice(7))
            assert ground.horizon < ground.land[0] < ground.land[1] < 1


def test_things_differ_from_their_background():
    for kind in KINDS:
        plain = draw_scene(Plan(5, "beach", "day", ()))
        thing = Thing(kind, "red", 1, 1.4)
        drawn = draw_scene(Plan(5, "beach", "day", (thing,)))
        assert np.abs(plain.astype(int) - drawn).mean() > 1


def test_night_is_darker_than_day():
    by_day, by_night = (
        draw_scene(Plan(9, "meadow", time, ())).mean() for time in ("day", "night")
    )
    assert by_night < 0.6 * by_day


def test_dice_follow_their_weights():
    dice = Dice(3)
    drawn = [dice.draw({"often": 3.0, "seldom": 1.0}) for _ in range(2000)]
    assert 0.7 < drawn.count("often") / 2000 < 0.8
    assert all(dice.draw({"never": 0.0, "ever": 1.0}) == "ever" for _ in range(50))


def test_paint_takes_the_light_unless_it_glows():
    canvas = Canvas((0, 0, 0), (0, 0, 0), "night")
    canvas.box(0, 0, 0.5, 1, (200, 200, 200))
    canvas.box(0.5, 0, 0.5, 1, (200, 200, 200), glows=True)
    assert canvas.image.getpixel((10, 10)) == (100, 106, 140)
    assert canvas.image.getpixel((100, 10)) == (200, 200, 200)


def test_shades_stay_colours():
    assert shade((100, 200, 250), 2.0) == (200, 255, 255)
    assert all(max(shade(colour, 1.15)) <= 255 for colour in PAINT.values())
