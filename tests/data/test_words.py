"""Words of many scripts, and known words for unknown ones."""

import sqlite3
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.data.static_words import is_installed
from fdch.data.texts import Sentences, Vocabulary
from fdch.data.word_forms import WordForms, hint_words
from fdch.data.words import cut_words, fold_accents, fold_case, place_words
from fdch.retrieval.queries import read_query


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Dog, on the BEACH!", ["dog", "on", "the", "beach"]),
        ("Tasse_2 für Öl", ["tasse_2", "für", "öl"]),
        ("고양이가 바다에", ["고양이가", "바다에"]),
        ("红色的杯子", ["红", "红色", "色", "色的", "的", "的杯", "杯", "杯子", "子"]),
        ("猫", ["猫"]),
        ("ねこ、いぬ", ["ねこ", "いぬ"]),
        ("赤いTシャツ2024年", ["赤", "赤い", "t", "シャ", "ャツ", "2024", "年"]),
        ("ｶｯﾌﾟ", ["ｶｯ", "ｯﾌ", "ﾌﾟ"]),
        ("แมวกิน ปลา", ["แม", "มว", "วก", "กน", "ปล", "ลา"]),
        ("ແມວ", ["ແມ", "ມວ"]),
        ("ឆ្មា", ["ឆម"]),
        ("ကြောင်", ["ကင"]),
        ("İstanbul IŞIK", ["istanbul", "işik"]),
        ("लाल किताब।", ["लाल", "किताब"]),
        ("ক্রিকেট খেলা", ["ক্রিকেট", "খেলা"]),
        ("كِتَاب", ["كِتَاب"]),
        ("cafe\u0301 \u0301", ["café"]),
        ("か\u3099", ["が"]),
        ("❤\ufe0f 1\ufe0f\u20e3", ["1"]),
        ("", []),
        ("、。", []),
    ],
)
def test_texts_are_cut_into_words(text, words):
    assert cut_words(text) == words


@given(st.text())
def test_words_are_letters_digits_and_their_marks_and_stay_as_they_are(text):
    for word in cut_words(text):
        assert word == fold_case(word) and (word[0].isalnum() or word[0] == "_")
        for c in word[1:]:
            assert c.isalnum() or c == "_" or unicodedata.category(c) in ("Mn", "Mc")


@given(st.text())
def test_words_stand_where_they_were_cut(text):
    for word, start, end in place_words(text):
        assert word in cut_words(text) and word in cut_words(text[start:end])


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("kırmızı", "kirmizi"),
        ("smørrebrød", "smorrebrod"),
        ("łódź", "lodz"),
        ("đường", "duong"),
        ("straße", "strasse"),
        ("cœur", "coeur"),
        ("ÆRØ", "aero"),
        ("كِتَاب", "كتاب"),
        ("किताब", "किताब"),
        ("が", "が"),
    ],
)
def test_accents_and_letters_like_them_are_folded(word, plain):
    assert fold_accents(fold_case(word)) == plain


def test_words_of_scripts_without_spaces_survive_full_text_search():
    texts = ["红色的杯子", "赤いカップ", "แมวกินปลา", "ແມວກິນປາ", "ឆ្មាស៊ីត្រី", "ကြောင်စားငါး"]
    with sqlite3.connect(":memory:") as base:
        base.execute("create virtual table t using fts5(words)")
        base.execute("create virtual table v using fts5vocab(t, row)")
        for text in texts:
            base.execute("insert into t values (?)", [" ".join(cut_words(text))])
        terms = {term for (term,) in base.execute("select term from v")}
    base.close()
    assert terms == {word for text in texts for word in cut_words(text)}


def test_a_vocabulary_of_texts_without_spaces_finds_parts_of_them():
    words = Vocabulary.fit(Sentences(["红色的杯子", "蓝色的狗"]))
    assert (
        words.number_words("杯子")
        and words.number_words("狗")
        and not words.number_words("猫")
    )
    assert words.unknown("猫 狗") == ["猫"]


@pytest.mark.parametrize(
    ("known", "word"),
    [
        ("mug", "mugs"),
        ("mugs", "mug"),
        ("city", "cities"),
        ("glass", "glasses"),
        ("bottle", "bottled"),
        ("walking", "walked"),
        ("café", "cafe"),
        ("cafe", "cafés"),
        ("tasse", "tassen"),
        ("hund", "hunde"),
        ("rouge", "rouges"),
        ("grand", "grandes"),
        ("rojo", "rojas"),
        ("stol", "stolen"),
        ("libro", "libri"),
        ("flicka", "flickor"),
        ("talo", "talossa"),
        ("koira", "koiran"),
        ("kitap", "kitaplar"),
        ("kırmızı", "kirmizi"),
        ("ağaç", "ağaçlar"),
        ("книга", "книги"),
    ],
)
def test_a_known_form_of_a_word_is_found(known, word):
    others = ["zebra", "umbrella"]
    assert WordForms([*others, known]).find_form(word) == known


@pytest.mark.parametrize(
    ("known", "word"),
    [
        ("car", "care"),
        ("car", "cart"),
        ("plan", "plant"),
        ("man", "mania"),
        ("on", "one"),
        ("cat", "dog"),
        ("art", "arts2"),
        ("bus", "but"),
        ("赤い", "赤"),
        ("planes", "plant"),
    ],
)
def test_other_words_are_no_forms(known, word):
    assert WordForms([known]).find_form(word) is None


@pytest.mark.parametrize(
    ("known", "word"),
    [
        ("dom", "domu"),
        ("ház", "házban"),
        ("kniha", "knihy"),
        ("kuppi", "kupissa"),
        ("kitap", "kitabı"),
        ("tasse", "kaffeetasse"),
        ("kaffeetasse", "tasse"),
        ("βιβλίο", "βιβλία"),
        ("σκύλος", "σκύλοι"),
        ("дерево", "деревьями"),
        ("ძაღლი", "ძაღლები"),
        ("किताब", "किताबें"),
        ("कुत्ता", "कुत्ते"),
        ("고양이", "고양이가"),
        ("컵", "컵이"),
        ("كتاب", "الكتاب"),
        ("كتاب", "كتابي"),
        ("ספר", "הספר"),
        ("ספר", "ספרים"),
    ],
)
def test_a_word_much_alike_is_found_where_texts_are_not_english(known, word):
    forms = WordForms(["größe", "město", known])
    assert forms.find_form(fold_case(word)) == known


@pytest.mark.parametrize(
    ("known", "word"),
    [
        ("pies", "piec"),
        ("talvi", "talossa"),
        ("사람", "사랑"),
        ("나무", "나물"),
        ("eis", "preis"),
        ("erde", "pferde"),
        ("рот", "крот"),
        ("سلام", "كلام"),
        ("بال", "مال"),
    ],
)
def test_words_that_are_only_a_little_alike_are_no_forms(known, word):
    assert WordForms(["größe", "město", known]).find_form(word) is None


def test_in_english_words_that_are_alike_are_no_forms():
    english = ["plan", "beach", "café", "sunset", "walk"]  # one has an accent
    assert WordForms(english).find_form("plant") is None
    assert WordForms([*english, "piñata"]).find_form("plant") == "plan"
    many = [f"beach{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" * 4]
    assert WordForms([*english, *many, "piñata"]).find_form("plant") is None


def test_of_words_that_are_alike_the_most_alike_counts_then_the_more_frequent():
    accented = ["größe", "město"]
    assert WordForms([*accented, "kotek", "kot"]).find_form("kotami") == "kot"
    assert WordForms([*accented, "domem", "domom"]).find_form("domy") is None
    assert WordForms([*accented, "ptakom", "ptakem"]).find_form("ptaku") == "ptakom"


def test_the_longest_stem_counts_then_the_more_frequent_word():
    forms = WordForms(["painted", "paint", "painting", "paints"])
    assert forms.find_form("painter") == "painted"
    assert WordForms(["glass", "glasse"]).find_form("glasses") == "glasse"


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("muug", "mug"),
        ("beech", "beach"),
        ("bech", "beach"),
        ("baech", "beach"),
        ("bottel", "bottle"),
        ("CAFEE", "café"),
        ("mag", None),  # short words resemble many
        ("benches", None),
        ("红色", None),
    ],
)
def test_a_word_with_one_slip_is_recognised(typed, known):
    words = ["mug", "beach", "bottle", "café", "红色的"]
    assert WordForms(words).find_slip(fold_case(typed)) == known


@pytest.mark.skipif(not is_installed(), reason="needs the extra static")
def test_a_word_near_in_meaning_is_found_where_one_is_near():
    forms = WordForms(["car", "baby", "tree", "couch", "cat"])
    assert forms.find_meaning("infant") == "baby"
    assert forms.find_meaning("vehicle") == "car"
    assert forms.find_meaning("automobile") == "car"  # of two pieces, as the next
    assert forms.find_meaning("kitten") == "cat"
    assert forms.find_meaning("software") is None
    assert WordForms([]).find_meaning("car") is None


@pytest.mark.skipif(not is_installed(), reason="needs the extra static")
@pytest.mark.parametrize(
    ("known", "word"),
    [
        ("couch", "pouch"),
        ("lizard", "wizard"),
        ("pen", "penicillin"),
        ("phone", "xylophone"),
    ],
)
def test_words_written_alike_are_not_meant_alike(known, word):
    assert WordForms([known]).find_meaning(word) is None


def test_a_query_is_read_with_known_forms_and_names_the_rest():
    words = Vocabulary(("mug", "red", "new-york"))
    read = read_query(words, "Red mugs, new-york qwertz!")
    assert read.text == "Red mug new-york qwertz!"
    assert read.read_as == {"mugs": "mug"} and read.unknown == ("qwertz!",)
    assert words.number_words(read.text) == [0, 1, 2]
    same = read_query(words, "red  mug")
    assert (same.text, same.read_as, same.unknown) == ("red  mug", {}, ())


def test_a_long_query_of_unknown_words_stays_cheap():
    read = read_query(Vocabulary(("mug",)), " ".join(f"mug{i}x" for i in range(10**4)))
    assert len(read.unknown) == 10**4 and not read.read_as


def test_suggestions_resemble_what_was_typed():
    words = Vocabulary(("beach", "kitchen", "红色", "mountain"))
    assert hint_words(words, "kichen") == "Near ones are: kitchen."
    assert hint_words(words, "zzz").startswith("Some that it knows are")
