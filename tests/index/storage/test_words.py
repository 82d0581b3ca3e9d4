"""Items found by the words of their texts: against a plain loop, and after damage."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.codes import binarize, hamming_distances
from fdch.index.conditions import parse_condition
from fdch.index.storage.catalogue.word_table import CUT, split_words, stem_word
from fdch.index.storage.catalogue.words import MAX_WORDS
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.store import Item, WordQuery

BITS = 16
TEXTS = ("a dog runs", "two dogs", "crème brûlée", "the CAT", None, "a b_c d", "")


def draw_codes(number, seed=0):
    return binarize(np.random.default_rng(seed).standard_normal((number, BITS)))


def make(path, texts=TEXTS):
    folder = CodeFolder.create(path, BITS, "a model")
    items = [
        Item(f"i{row}", text=text, columns={"even": row % 2 == 0})
        for row, text in enumerate(texts)
    ]
    folder.add(items, draw_codes(len(items)))
    return folder


def find(folder, text, k=1, where=(), radius=None):
    """Give what words find of a query, each with its share."""
    query = WordQuery(split_words(text), 1000.0, radius)
    [answer] = folder.search(draw_codes(1, 9), k, where=where, words=[query])
    assert answer.shares is not None
    found = zip(answer.ids, answer.shares.tolist(), strict=True)
    return {id: share for id, share in found if share}


def test_words_are_found_in_any_form_case_and_accent(tmp_path):
    with make(tmp_path / "index") as folder:
        assert find(folder, "DOG", k=5) == {"i0": 1.0, "i1": 1.0}
        assert find(folder, "creme") == {"i2": 1.0}
        assert find(folder, "Brûlée") == {"i2": 1.0}
        assert find(folder, "b_c") == {"i5": 1.0}
        assert find(folder, "cats", k=5) == {"i3": 1.0}
        assert find(folder, "bird", k=5) == {}


def test_a_word_that_no_text_holds_is_found_in_other_forms(tmp_path):
    texts = ["iso koira", "koiran talo", "vihreä metsä", "en flicka", "flickor"]
    with make(tmp_path / "index", texts) as folder:
        assert find(folder, "koiraa", k=5) == {"i0": 1.0, "i1": 1.0}
        assert find(folder, "koiran", k=5) == {"i1": 1.0}  # which a text holds
        assert find(folder, "METSÄN", k=5) == {"i2": 1.0}
        assert find(folder, "flickorna", k=5) == {"i3": 1.0, "i4": 1.0}
        assert find(folder, "kissa", k=5) == {}
        query = WordQuery(("koiraa",), 1.0)
        [answer] = folder.search(draw_codes(1, 9), 5, words=[query])
        stems = {stem_word(form): word for form, word in answer.words.items()}
        assert stems == {"koira": "koiraa", "koiran": "koiraa"}


def test_each_cut_word_is_one_word_to_the_table():
    for word in ("b_c", "猫", "き", "и", "½", "किताब", "ក្តី", "𐓷𐓘", "x" * 70):
        assert len(split_words(word)) == 1
        assert stem_word(word) == word
    assert stem_word("running") == stem_word("runs") == "run"


def test_a_changed_cut_needs_a_new_number():
    """If this fails, texts are cut otherwise: raise CUT, and change what is here."""
    assert CUT == 2
    assert split_words("A Dog's b_c, CAFÉ Straße 10.5 Ødegård किताब") == (
        *("a", "dog", "s", "b_c", "cafe", "strasse", "10", "5", "odegard", "किताब"),
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            '"',
            "*",
            "dog*",
            "NEAR(a b)",
            f"cut_{CUT}:dog",
            "a AND",
            "^dog",
            "(",
            "- +dog",
        ),
        *("dog\0cat", "words MATCH 'x' OR 1", "'; DROP TABLE items; --", "\ufffd", ""),
    ],
)
def test_no_query_becomes_syntax(tmp_path, text):
    with make(tmp_path / "index") as folder:
        found = find(folder, text, k=10)
        words = {stem_word(word) for word in split_words(text)}
        for id in found:
            held = split_words(TEXTS[int(id[1:])])
            assert words & {stem_word(word) for word in held}
        assert len(folder) == len(TEXTS)


def test_quoted_words_never_end_the_quotes(tmp_path):
    with make(tmp_path / "index") as folder:
        for word in ('"', 'dog" OR "cat', "\0", "dog\0"):
            query = WordQuery((word,), 1.0)
            [answer] = folder.search(draw_codes(1), 1, words=[query])
            assert answer.shares is not None and not answer.shares.any()


def test_of_very_many_words_the_first_count(tmp_path):
    many = " ".join(f"word{n}" for n in range(100_000))
    with make(tmp_path / "index") as folder:
        assert find(folder, f"{many} dog", k=5) == {}
        few = " ".join(f"word{n}" for n in range(MAX_WORDS - 1))
        assert find(folder, f"{few} dog", k=5).keys() == {"i0", "i1"}


def test_a_word_that_stands_nearly_everywhere_counts_only_alone(tmp_path):
    texts = [f"the thing {n}" for n in range(9)] + ["the dog"]
    with make(tmp_path / "index", texts) as folder:
        assert find(folder, "the dog", k=10) == {"i9": 1.0}
        assert find(folder, "the bird", k=10) == {}
        assert len(find(folder, "the", k=10)) == 10


def test_conditions_radius_and_removals_hold(tmp_path):
    with make(tmp_path / "index") as folder:
        even = [parse_condition("even=true")]
        assert find(folder, "dog", k=5, where=even) == {"i0": 1.0}
        distances = hamming_distances(draw_codes(1, 9), draw_codes(2))[0].tolist()
        near = find(folder, "dog", radius=min(distances), k=5)
        assert near == {f"i{n}": 1.0 for n in (0, 1) if distances[n] == min(distances)}
        folder.remove(["i0"])
        assert find(folder, "dog", k=5) == {"i1": 1.0}
        folder.add([Item("i1", text="a bird")], draw_codes(1))
        assert find(folder, "dog", k=5) == {}
        assert find(folder, "bird", k=5) == {"i1": 1.0}
        assert folder.verify().is_clean


LETTERS = st.sampled_from(["ant", "bee", "cow", "dog", "emu", "fox", "gnu"])
STORED = st.lists(st.lists(LETTERS, max_size=4).map(" ".join), min_size=1, max_size=12)


@given(STORED, st.lists(LETTERS, min_size=1, max_size=4, unique=True), st.data())
def test_the_best_matches_are_those_of_a_plain_loop(
    tmp_path_factory, texts, words, data
):
    weight = data.draw(st.sampled_from([0.0, 3.0, 1000.0]))
    k = data.draw(st.integers(1, 14))
    path = tmp_path_factory.mktemp("words") / "index"
    with make(path, texts) as folder:
        query = WordQuery(tuple(words), weight)
        [answer] = folder.search(draw_codes(1, 9), k, words=[query])
    held = [set(text.split()) for text in texts]
    holding = {word: sum(word in each for each in held) for word in words}
    weights = {
        word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        for word, n in holding.items()
    }
    rare = [word for word in words if 3 * holding[word] <= len(texts)] or words
    total = sum(weights[word] for word in rare)
    there = sum(weights[word] for word in rare if holding[word]) / total
    shares = [
        sum(weights[w] for w in rare if w in each) / total * there for each in held
    ]
    distances = hamming_distances(draw_codes(1, 9), draw_codes(len(texts)))[0].tolist()
    rows = range(len(texts))
    near = sorted(rows, key=lambda row: (distances[row], row))[:k]
    matching = [row for row in rows if shares[row] > 0]
    best = sorted(
        matching, key=lambda row: (round(distances[row] - weight * shares[row], 9), row)
    )[:k]
    union = sorted({*near, *best}, key=lambda row: (distances[row], row))
    assert answer.ids == tuple(f"i{row}" for row in union)
    np.testing.assert_allclose(answer.shares, [shares[row] for row in union], atol=1e-9)
    assert answer.distances.tolist() == [distances[row] for row in union]


def test_words_are_made_again_with_the_catalogue(tmp_path):
    path = tmp_path / "index"
    make(path).close()
    (path / "catalogue.sqlite").unlink()
    with CodeFolder.open(path, writable=True) as folder:
        assert find(folder, "dog", k=5).keys() == {"i0", "i1"}
        folder.remove(["i0"])
        folder.compact()
        assert find(folder, "dog", k=5) == {"i1": 1.0}
        assert folder.verify().is_clean


def test_a_catalogue_without_words_is_made_again(tmp_path):
    path = tmp_path / "index"
    make(path).close()
    with closing(sqlite3.connect(path / "catalogue.sqlite")) as connection:
        connection.execute("DROP TABLE words")
        connection.commit()
    with CodeFolder.open(path) as folder:
        assert find(folder, "dog", k=5).keys() == {"i0", "i1"}
        assert folder.verify().is_clean


@pytest.mark.parametrize(
    "damage",
    [
        f"INSERT INTO words (rowid, cut_{CUT}) VALUES (3, 'dog')",
        f"INSERT INTO words (words, rowid, cut_{CUT}) VALUES ('delete', 1, 'two dogs')",
        "INSERT INTO words (words) VALUES ('delete-all')",
    ],
)
def test_verify_compares_words_with_texts_and_repair_restores_them(tmp_path, damage):
    path = tmp_path / "index"
    make(path).close()
    with closing(sqlite3.connect(path / "catalogue.sqlite")) as connection:
        connection.execute(damage)
        connection.commit()
    with CodeFolder.open(path) as folder:
        wrong = folder.verify().problems
    assert "words" in {problem.where for problem in wrong}
    assert not repair_folder(path).left
    with CodeFolder.open(path) as folder:
        assert folder.verify().is_clean
        assert find(folder, "dog", k=5).keys() == {"i0", "i1"}


def test_an_index_without_texts_says_so(tmp_path):
    with CodeFolder.create(tmp_path / "index", BITS, "a model") as folder:
        folder.add_numbered(draw_codes(3))
        folder.add([Item("a")], draw_codes(1))
        assert folder.words_obstacle()
        folder.add([Item("b", text="a dog")], draw_codes(1))
        assert folder.words_obstacle() == ""
