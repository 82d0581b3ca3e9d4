"""Where words of a query stand in a text."""

import pytest

from fdch.retrieval.results import MAX_CHARACTERS, MAX_MARKS, Match, mark_words


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("A Dog, two dogs", ("dog",), ["Dog", "dogs"]),
        ("Crème brûlée", ("creme",), ["Crème"]),
        ("hot-dog hotdog", ("dog",), ["dog"]),
        ("<b>dog</b>", ("b", "dog"), ["b", "dog", "b"]),
        ("Straße 😀 dog", ("strasse", "dog"), ["Straße", "dog"]),
        ("nothing", ("dog",), []),
        (None, ("dog",), []),
        ("dog", (), []),
    ],
)
def test_words_are_found_where_they_stand(text, words, marked):
    assert [text[m.start : m.end] for m in mark_words(text, words)] == marked


def test_parts_of_letters_that_stand_together_are_cut_where_they_overlap(monkeypatch):
    def pairs_of_letters(text):
        return tuple(dict.fromkeys(text[at : at + 2] for at in range(len(text) - 1)))

    monkeypatch.setattr("fdch.retrieval.results.split_words", pairs_of_letters)
    assert mark_words("東京都庁", ("東京", "京都")) == (
        Match("東京", 0, 2),
        Match("京都", 2, 3),
    )


def test_very_long_texts_are_marked_at_their_beginning():
    assert len(mark_words("dog " * MAX_CHARACTERS, ("dog",))) == MAX_MARKS
    assert mark_words("x " * MAX_CHARACTERS + "dog", ("dog",)) == ()
