"""Texts and the vocabulary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fdch.data.texts import Sentences, Vocabulary, WordVectors
from fdch.data.word_forms import hint_words
from fdch.data.words import cut_words


def test_words_are_found_whatever_their_case_and_the_signs_around():
    words = Vocabulary(("beach", "dog", "new-york", "straße"))
    assert words.number_words("DOG, on the beach!") == [0, 1]
    assert words.number_words("STRASSE") == [3]
    assert words.number_words("cat") == []
    assert words.number_words("") == []


def test_a_chunk_known_as_a_whole_is_not_taken_apart():
    words = Vocabulary(("new", "new-york", "york"))
    assert words.number_words("new-york") == [1]
    assert words.number_words("(new-york)") == [0, 2]
    assert words.number_words("york new") == [0, 2]


def test_composed_and_decomposed_letters_are_one_word():
    assert Vocabulary(("café",)).number_words("cafe\u0301") == [0]
    assert Vocabulary(("cafe\u0301",)).number_words("CAFÉ") == [0]


def test_fit_ranks_by_texts_and_then_the_alphabet(monkeypatch):
    texts = Sentences(["dog dog dog", "cat sea", "Cat, dune", None, "sea cat"])
    assert Vocabulary.fit(texts).words == ("cat", "sea", "dog", "dune")
    monkeypatch.setattr("fdch.data.texts.MAX_WORDS", 1)
    assert Vocabulary.fit(texts).words == ("cat",)


def test_vectors_hold_which_words_occur_not_how_often():
    words = Vocabulary(("cat", "dog"))
    vectors = words.vectors(Sentences(["dog dog", None, "a cat and a dog", "sea"]))
    assert vectors.dtype == np.float32
    assert vectors.toarray().tolist() == [[0, 1], [0, 0], [1, 1], [0, 0]]


def test_no_texts_and_no_words_have_vectors_too():
    assert Vocabulary(("cat",)).vectors(Sentences([])).shape == (0, 1)
    assert Vocabulary(()).vectors(Sentences(["cat"])).shape == (1, 0)
    assert len(Vocabulary(())) == 0


def test_nearest_suggests_known_words():
    words = Vocabulary(("beach", "mountain", "dog"))
    assert (
        hint_words(words, "a beech at the mountin") == "Near ones are: beach, mountain."
    )
    assert hint_words(words, "xylophone").startswith("Some that")
    assert hint_words(words, "b" * 10**6).startswith("Some that")


def test_examples_are_frequent_words_that_separate_items():
    words = Vocabulary(("a", "the", "tree", "in", "house", "beach", "of", "boats"))
    assert (
        hint_words(words, "") == "Some that it knows are: tree, house, beach, boats, a."
    )


def test_sentences_keep_their_vocabulary_through_a_choice_of_rows():
    words = Vocabulary(("dog",))
    some = Sentences(["a", None, ""], words)[[1, 2]]
    assert some.values.tolist() == [None, ""] and some.vocabulary is words
    assert some.present.tolist() == [False, True]


def test_word_vectors_are_float_rows():
    vectors = WordVectors(sparse.csr_array(np.eye(3, dtype=np.int8)))
    some = vectors[np.array([True, False, True])]
    assert some.matrix.dtype == np.float32 and some.text(0) is None
    assert some.matrix.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert some.present.tolist() == [True, True]


@given(st.lists(st.text(max_size=20), max_size=6))
def test_every_word_of_fitted_texts_is_known(texts):
    words = Vocabulary.fit(Sentences(texts))
    vectors = words.vectors(Sentences(texts))
    assert np.array_equal(vectors.toarray() > 0, vectors.toarray() == 1)
    # a word of the vocabulary was in some text
    assert vectors.sum(axis=0).all() or not words.words
    for text in texts:
        assert words.number_words(text) == sorted(set(words.number_words(text)))


@given(st.text(alphabet=st.sampled_from("aAbßéÉ -,\u0301\u00a0ǅ"), max_size=30))
def test_unknown_pieces_are_those_without_a_known_word(text):
    vocabulary = Vocabulary(("a", "ss", "é", "a-b"))
    unknown = vocabulary.unknown(text)
    whole = [piece for piece in text.split() if not vocabulary.number_words(piece)]
    assert [piece for piece in unknown if piece in whole] == whole
    words = [word for piece in text.split() for word in cut_words(piece)]
    for part in unknown:
        assert part in text and not vocabulary.number_words(part)
        assert set(cut_words(part)) <= {*words}


@pytest.mark.parametrize(
    ("known", "text", "unknown"),
    [
        (["dog"], "dog-house", ["house"]),
        (["dog", "house"], "dog-house!", []),
        (["new-york"], "New-York york", ["york"]),
        (["红", "红色"], "红猫", ["猫"]),
        (["红色", "杯子"], "红色大猫杯子", ["大猫"]),
        (["赤い", "カッ", "ップ"], "赤いカップ", []),
        (["dog"], "dog,Cat/ Dog's", ["Cat", "s"]),
        (["dog"], "dog ?!", ["?!"]),
    ],
)
def test_the_unknown_half_of_a_piece_is_named(known, text, unknown):
    assert Vocabulary(tuple(known)).unknown(text) == unknown
