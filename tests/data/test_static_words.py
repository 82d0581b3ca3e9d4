"""Static vectors of texts, from files of a package that are checked."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("tokenizers")

from tokenizers import Tokenizer

from fdch.data import static_words
from fdch.data.static_words import (
    NAME,
    TOKENIZER,
    WEIGHTS,
    WIDTH,
    StaticVocabulary,
    load_embeddings,
    restore_vocabulary,
    words_in,
)
from fdch.data.texts import Sentences, Vocabulary
from fdch.errors import DataError, MissingExtra

TEXTS = [
    "A dog on the beach.",
    "Two people, one with an umbrella-like hat, walk over snow",
    "Straße in 日本, café",
]


@pytest.fixture(scope="module")
def folder():
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package wordllama is not installed")
    return Path(spec.submodule_search_locations[0])


@pytest.fixture(autouse=True, scope="module")
def installed(folder):
    """All tests here are about the package."""


@pytest.fixture
def unloaded():
    """Nothing has been loaded yet, nor is what the test loads kept."""
    load_embeddings.cache_clear()
    yield
    load_embeddings.cache_clear()


def vector(text):
    return load_embeddings().vector(text)


def likeness(one, other):
    return float(vector(one) @ vector(other))


@pytest.mark.parametrize("text", TEXTS)
def test_a_vector_is_the_mean_of_the_pieces_scaled_to_length_one(folder, text):
    (table,) = load_file(folder / WEIGHTS.path).values()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.path))
    # the whole text at once: words are cut into pieces one by one in the package
    joined = " ".join(words_in(text))
    numbers = tokenizer.encode(joined, add_special_tokens=False).ids
    mean = np.zeros(WIDTH)
    for number in numbers:
        mean += table[number].astype(np.float64) / len(numbers)
    length = sum(value**2 for value in mean) ** 0.5
    np.testing.assert_allclose(vector(text), mean / length, atol=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "?! -- _"])
def test_a_text_without_a_word_is_all_zero(text):
    assert not vector(text).any()
    assert vector(text).dtype == np.float32


@pytest.mark.parametrize("tag", ["new-york", "new_york", "New York", "NEW+york"])
def test_a_tag_is_read_by_its_words(tag):
    assert np.array_equal(vector(tag), vector("new york"))


def test_signs_of_the_tokenizer_are_only_text():
    assert np.array_equal(vector("<s> dog </s> <unk>"), vector("s dog s unk"))


def test_words_of_like_meaning_are_near():
    assert likeness("dog", "puppy") > 0.4 > likeness("dog", "car")
    assert likeness("sea", "beach") > 0.3 > likeness("sea", "automobile")


def test_very_long_words_are_cut():
    assert [len(word) for word in words_in("x" * 250)] == [100, 100, 50]
    assert abs(np.linalg.norm(vector("x" * 250)) - 1) < 1e-5


def test_columns_are_those_of_the_words_then_the_static_ones():
    words = ("beach", "dog")
    vocabulary = StaticVocabulary(words)
    texts = Sentences(["Dog!", None, "zebra", "?"])
    found = vocabulary.vectors(texts)
    assert found.dtype == np.float32
    assert found.shape == (4, vocabulary.width) == (4, 2 + WIDTH)
    dense = found.toarray()
    plain = Vocabulary(words).vectors(texts).toarray()
    assert np.array_equal(dense[:, :2], plain)
    assert np.array_equal(dense[0, 2:], vector("dog"))
    assert not dense[1].any() and not dense[3].any()
    assert np.array_equal(dense[2, 2:], vector("zebra"))


def test_no_texts_give_no_rows():
    assert StaticVocabulary(("a",)).vectors(Sentences([])).shape == (0, 1 + WIDTH)


def test_unknown_words_count():
    vocabulary = StaticVocabulary(("dog", "*"))
    assert vocabulary.reads("zebra") and vocabulary.reads("*")
    assert not vocabulary.reads(" ?! ")
    assert vocabulary.unknown("zebra dog ?!") == ["zebra", "?!"]
    assert not Vocabulary(("dog",)).reads("zebra")
    assert vocabulary.number_words("zebra dog") == [0]


def test_the_package_itself_is_not_imported():
    code = (
        "import sys; from fdch.data.static_words import load_embeddings;"
        "load_embeddings().vector('a dog');"
        "print([m for m in ('wordllama', 'huggingface_hub', 'torch') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["WEIGHTS", "TOKENIZER"])
def test_other_files_than_the_published_ones_are_refused(name, unloaded, monkeypatch):
    changed = getattr(static_words, name)._replace(sha256="0" * 64)
    monkeypatch.setattr(static_words, name, changed)
    with pytest.raises(DataError, match=r"not the published file.*Reinstall"):
        load_embeddings()


def test_a_missing_file_is_named(unloaded, monkeypatch):
    absent = WEIGHTS._replace(path="weights/none")
    monkeypatch.setattr(static_words, "WEIGHTS", absent)
    with pytest.raises(DataError, match=r"cannot be read.*none.*Reinstall"):
        load_embeddings()


def test_a_missing_package_names_the_extra(unloaded, monkeypatch):
    monkeypatch.setattr(static_words, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtra, match=r"fdch\[static\]"):
        load_embeddings()


def test_a_missing_tokenizer_names_the_extra(unloaded, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"fdch\[static\]"):
        load_embeddings()


def test_a_saved_vocabulary_comes_back():
    assert restore_vocabulary(["a", "b"], None, 2) == Vocabulary(("a", "b"))
    assert restore_vocabulary(None, None, 7) is None
    found = restore_vocabulary(["a", "b"], NAME, 2 + WIDTH)
    assert found == StaticVocabulary(("a", "b")) != Vocabulary(("a", "b"))


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        ((["a"], None, 2), "1 words for 2 columns"),
        ((["a"], NAME, 1), "1 words for 1 columns"),
        ((["a"], "others", 1 + WIDTH), "unknown static embeddings 'others'"),
        ((["a"], ["x"], 1 + WIDTH), "unknown static embeddings"),
    ],
    ids=json.dumps,
)
def test_a_saved_vocabulary_that_does_not_fit_is_refused(saved, said):
    with pytest.raises(ValueError, match=said):
        restore_vocabulary(*saved)
