"""Where words of a query occur in a text."""

import pytest

from fdch.retrieval.results import MAX_CHARACTERS, MAX_MARKS, Match, mark_words


def same(words):
    """Give the words of a query that texts hold as they are."""
    return {word: word for word in words}


def test_a_form_is_marked_as_the_word_of_the_query():
    assert mark_words("Iso koira", {"koira": "koiran"}) == (Match("koiran", 4, 9),)


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("A Dog, two dogs", ("dog",), ["Dog", "dogs"]),
        ("Crème brûlée", ("creme",), ["Crème"]),
        ("hot-dog hotdog", ("dog",), ["dog"]),
        ("<b>dog</b>", ("b", "dog"), ["b", "dog", "b"]),
        ("Straße 😀 dog", ("strasse", "dog"), ["Straße", "dog"]),
        ("cafe\u0301 noir", ("cafe",), ["cafe\u0301"]),
        ("Ødegård kırmızı", ("odegard", "kirmizi"), ["Ødegård", "kırmızı"]),
        ("मेरी किताब।", ("किताब",), ["किताब"]),
        ("มีถ้วยหนึ่ง", ("ถว", "วย"), ["ถ้ว", "ย"]),
        ("nothing", ("dog",), []),
        (None, ("dog",), []),
        ("dog", (), []),
    ],
)
def test_words_are_found_where_they_stand(text, words, marked):
    assert [text[m.start : m.end] for m in mark_words(text, same(words))] == marked


def test_parts_of_letters_that_stand_together_are_cut_where_they_overlap():
    assert mark_words("東京都庁", same(("東京", "京都"))) == (
        Match("東京", 0, 2),
        Match("京都", 2, 3),
    )


def test_very_long_texts_are_marked_at_their_beginning():
    assert len(mark_words("dog " * MAX_CHARACTERS, same(("dog",)))) == MAX_MARKS
    assert mark_words("x " * MAX_CHARACTERS + "dog", same(("dog",))) == ()
