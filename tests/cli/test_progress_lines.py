"""Progress on a terminal and in a pipe."""

import io

import pytest

from fdch.cli.shared.progress_lines import ProgressPrinter, duration, figures, pace
from fdch.progress import Update


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def piped(clock):
    stream = io.StringIO()
    return stream, ProgressPrinter(stream, clock)


def test_slow_epochs_have_their_line_each(piped, clock):
    stream, progress = piped
    for epoch in range(1, 4):
        progress(Update("stage 1", epoch, 3, "epoch", {"pairwise": 1 / epoch}))
        clock.now += 6
    assert stream.getvalue().splitlines() == [
        "stage 1: 1/3 epochs; pairwise 1",
        "stage 1: 2/3 epochs, 6.0 s/epoch, 6 s left; pairwise 0.5",
        "stage 1: 3/3 epochs, 6.0 s/epoch, 0 s left; pairwise 0.333",
    ]


def test_of_quick_epochs_the_first_the_last_and_some_between_have_a_line(piped, clock):
    stream, progress = piped
    for stage in ("stage 1", "stage 2"):
        for epoch in range(1, 1001):
            progress(Update(stage, epoch, 1000, "epoch", {"pairwise": 0.5}))
            clock.now += 0.01
    reported = [line.partition(" epochs")[0] for line in stream.getvalue().splitlines()]
    counts = ["1/1,000", "501/1,000", "1,000/1,000"]
    assert reported == [
        f"stage {stage}: {count}" for stage in (1, 2) for count in counts
    ]


def test_pictures_have_a_line_every_five_seconds_and_a_last_one(piped, clock):
    stream, progress = piped
    for done in range(1, 2001):
        progress(Update("image features", done, 2000, "picture"))
        clock.now += 0.01
    lines = stream.getvalue().splitlines()
    assert lines[0] == "image features: 501/2,000 pictures, 100 pictures/s, 15 s left"
    assert lines[-1] == "image features: 2,000/2,000 pictures, 100 pictures/s, 0 s left"
    assert len(lines) == 4


def test_time_itself_has_no_pace(piped, clock):
    stream, progress = piped
    for second in range(10):
        progress(Update("tuning", second, 60, "second"))
        clock.now += 1
    assert stream.getvalue() == "tuning: 5/60 seconds, 55 s left\n"


def test_what_was_done_before_does_not_count_to_the_pace(piped, clock):
    stream, progress = piped
    progress(Update("image features", 900, 1000, "picture"))
    clock.now += 10
    progress(Update("image features", 950, 1000, "picture"))
    assert "950/1,000 pictures, 5.0 pictures/s, 10 s left" in stream.getvalue()


def test_work_already_done_is_not_worth_a_line(piped):
    stream, progress = piped
    progress(Update("image features", 1000, 1000, "picture"))
    assert stream.getvalue() == ""


def test_a_single_epoch_is(piped):
    stream, progress = piped
    progress(Update("stage 1", 1, 1, "epoch"))
    assert stream.getvalue() == "stage 1: 1/1 epochs\n"


def test_the_same_task_may_come_again(piped, clock):
    stream, progress = piped
    for _ in range(2):
        for done in (100, 200):
            progress(Update("scoring", done, 200, "query"))
            clock.now += 1
    line = "scoring: 200/200 queries, 100 queries/s, 0 s left"
    assert stream.getvalue().splitlines() == [line, line]


def test_a_terminal_gets_a_bar():
    stream = Terminal()
    with ProgressPrinter(stream) as progress:
        for done in range(1, 4):
            progress(Update("stage 2", done, 3, "epoch", {"mean |F|": 0.5}))
    shown = stream.getvalue()
    assert "stage 2: 100%" in shown
    assert "3/3" in shown
    assert "mean |F| 0.5" in shown
    assert shown.endswith("\n")


def test_a_bar_ends_with_a_line_where_work_fails():
    stream = Terminal()
    with pytest.raises(ZeroDivisionError), ProgressPrinter(stream) as progress:
        progress(Update("image features", 1, 10, "picture"))
        raise ZeroDivisionError
    assert stream.getvalue().endswith("\n")


def test_a_terminal_sees_no_bar_of_work_already_done():
    stream = Terminal()
    with ProgressPrinter(stream) as progress:
        progress(Update("image features", 5, 5, "picture"))
    assert stream.getvalue() == ""


def test_figures_of_both_sides_share_a_name():
    values = {
        "image pairwise": 0.51234,
        "text pairwise": 0.5,
        "mean |F|": 0.66,
    }
    shown = "pairwise 0.512/0.5, mean |F| 0.66"
    assert figures(values) == shown


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.1, "10.0 s/epoch"), (1.5, "1.5 epochs/s"), (99.9, "100 epochs/s")],
)
def test_pace_is_reported_the_way_it_exceeds_one(rate, shown):
    assert pace(rate, "epoch") == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "0 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (7322, "2 h 2 min")],
)
def test_durations_are_reported_as_people_do(seconds, shown):
    assert duration(seconds) == shown
