"""What is tried next, and what is worth going on with."""

import pytest
from tests.tuning.conftest import Toy

from fdch import methods
from fdch.methods._settings.assignments import configure
from fdch.tuning.proposals import TuningTask, is_promising, propose
from fdch.tuning.records import STEPS, Trial, last_step


def done(number, settings, *scores):
    marks = {last_step(fold): score for fold, score in enumerate(scores)}
    zeros = [0.0] * len(scores)
    return Trial(number, settings, "done", marks, zeros, zeros)


def defaults_of(task):
    return done(0, task.defaults, 0.5)


def drawn(task, number):
    """Some proposals, each given a score by its strength."""
    trials = [defaults_of(task)]
    for each in range(1, number + 1):
        settings = propose(task, trials)
        trials.append(done(each, settings, 0.5 + settings["strength"] / 10))
    return [trial.settings for trial in trials[1:]]


def test_proposals_are_settings_in_their_ranges():
    task = TuningTask(Toy(bits=8), set(), "", "")
    found = drawn(task, 12)
    for settings in found:
        assert settings.keys() == task.space.keys()
        assert type(settings["width"]) is int
        assert all(settings[name] in space for name, space in task.space.items())
        assert settings["strength"] == float(f"{settings['strength']:.3g}")
        task.build(settings).check()
    assert {settings["trouble"] for settings in found} == {False, True}


def test_the_same_trials_lead_to_the_same_proposals(toy_task):
    assert drawn(toy_task, 12) == drawn(toy_task, 12)
    other = TuningTask(Toy(bits=8, seed=1), {"trouble"}, "", "")
    assert drawn(other, 2) != drawn(toy_task, 2)


def test_later_proposals_are_nearer_to_what_did_well(toy_task):
    found = [settings["strength"] for settings in drawn(toy_task, 40)]
    assert sum(found[-15:]) / 15 > sum(found[:10]) / 10 + 0.1


def test_a_value_to_be_tried_first_is():
    task = TuningTask(methods.load("fdch")(bits=8), set(), "", "")
    first = propose(task, [defaults_of(task)])
    assert first == task.defaults | {"image_dropout": 0.2, "word_dropout": 0.2}
    fixed = TuningTask(task.method, {"image_dropout", "word_dropout"}, "", "")
    assert propose(fixed, [defaults_of(fixed)]) != fixed.defaults


def test_a_preset_outside_the_ranges_is_no_obstacle():
    method = configure(methods.load("fdch"), {"preset": "paper"}, bits=8)
    task = TuningTask(method, {"preset"}, "", "")
    trials = [defaults_of(task), done(1, task.defaults, 0.4)]
    assert all(propose(task, trials)[name] in task.space[name] for name in task.space)


def at(step, gain):
    return Trial(1, {}, marks={step: 0.5 + gain})


@pytest.mark.parametrize(
    ("own", "others", "promising"),
    [
        (0.01, [], True),
        (-0.01, [], False),
        (0.01, [0.02], True),
        (0.01, [0.02, 0.03], False),
        (0.01, [0.02, 0.03, -0.01], True),
    ],
)
def test_after_a_fold_the_better_half_goes_on(own, others, promising):
    step = last_step(0)
    trials = [at(step, gain) for gain in (0.0, *others)]
    assert is_promising(at(step, own), step, trials) is promising


@pytest.mark.parametrize(
    ("others", "promising"),
    [([], True), ([0.01], True), ([0.01, 0.02], False), ([-0.2, 0.01, 0.02], True)],
)
def test_in_the_middle_of_a_fold_only_the_last_are_stopped(others, promising):
    trials = [at(1, gain) for gain in (0.0, *others)]
    assert is_promising(at(1, -0.1), 1, trials) is promising


def test_trials_are_compared_with_those_that_came_as_far():
    step = last_step(1)
    defaults = done(0, {}, 0.5, 0.5)
    behind = [done(n, {}, 0.9) for n in range(1, 5)]
    own = done(5, {}, 0.4, 0.7)
    assert is_promising(own, step, [defaults, *behind])
    assert not is_promising(own, last_step(0), [defaults, *behind])
    assert step == 2 * STEPS - 1
