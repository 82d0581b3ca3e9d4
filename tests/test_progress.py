"""Bars for Python and notebooks; tests/cli has those of the command."""

from fdch.progress import Update, show_bars


def test_a_bar_shows_the_first_figures_alone(capsys):
    values = {name: 0.5 for name in ("mean |H|", "a", "b", "c", "d")}
    show = show_bars()
    show(Update("stage 1", 1, 2, "epoch", values))
    show(Update("stage 1", 2, 2, "epoch", values))
    shown = capsys.readouterr().err
    assert "2/2" in shown and "|output| 0.5, a 0.5, b 0.5, c 0.5]" in shown
