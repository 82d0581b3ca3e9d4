"""Texts of many languages: trained on, and found by words in other forms."""

import numpy as np
import pytest

from fdch.data.pairs import PairedSet
from fdch.errors import UnknownWords
from fdch.methods.dch import DCH
from fdch.methods.fdch_plus import FDCHPlus
from fdch.retrieval.index import Index
from fdch.retrieval.params import SearchParams
from fdch.retrieval.searcher import Searcher

# texts about cups, dogs and trees; a query for each, with what the model reads
# otherwise, and what is marked in the text
Query = tuple[str, dict[str, str], list[str]]
LANGUAGES: dict[str, tuple[list[str], list[Query]]] = {
    "Chinese": (
        ["红色的杯子在桌上", "一只大狗在跑", "公园里的绿树"],
        [("红杯子", {}, ["红", "杯子"]), ("狗", {}, ["狗"]), ("树", {}, ["树"])],
    ),
    "Japanese": (
        ["赤いカップがあります", "大きな犬が走る", "公園の緑の木"],
        [
            ("カップ", {}, ["カップ"]),
            ("犬", {}, ["犬"]),
            ("緑の木", {}, ["緑の木"]),
        ],
    ),
    "Thai": (
        ["ถ้วยสีแดงบนโต๊ะ", "สุนัขตัวใหญ่วิ่ง", "ต้นไม้สีเขียวในสวน"],
        [
            ("ถ้วย", {}, ["ถ้วย"]),
            ("สุนัข", {}, ["สุนัข"]),
            ("ต้นไม้", {}, ["ต้นไม้"]),
        ],
    ),
    "Lao": (
        ["ຈອກສີແດງຢູ່ເທິງໂຕະ", "ໝາໃຫຍ່ແລ່ນ", "ຕົ້ນໄມ້ສີຂຽວ"],
        [("ຈອກສີແດງ", {}, ["ຈອກສີແດງ"]), ("ໝາ", {}, ["ໝາ"]), ("ຕົ້ນໄມ້", {}, ["ຕົ້ນໄມ້"])],
    ),
    "Khmer": (
        ["ពែងក្រហមនៅលើតុ", "ឆ្កែធំរត់", "ដើមឈើបៃតង"],
        [("ពែងក្រហម", {}, ["ពែងក្រហម"]), ("ឆ្កែ", {}, ["ឆ្កែ"]), ("ដើមឈើ", {}, ["ដើមឈើ"])],
    ),
    "Burmese": (
        ["ခွက်အနီ", "ခွေးကြီးပြေး", "သစ်ပင်စိမ်း"],
        [
            ("အနီ", {}, ["အနီ"]),
            ("ခွေးကြီး", {}, ["ခွေးကြီး"]),
            ("သစ်ပင်", {}, ["သစ်ပင်"]),
        ],
    ),
    "Hindi": (
        ["मेज़ पर लाल प्याला", "बड़ा कुत्ता दौड़ता है", "बगीचे में हरा पेड़।"],
        [
            ("प्याले", {"प्याले": "प्याला"}, ["प्याला"]),
            ("कुत्तों", {"कुत्तों": "कुत्ता"}, ["कुत्ता"]),
            ("पेड़ों", {"पेड़ों": "पेड़"}, ["पेड़"]),
        ],
    ),
    "Finnish": (
        ["punainen pullo pöydällä", "iso koira juoksee", "vihreä metsä puistossa"],
        [
            ("pullossa", {"pullossa": "pullo"}, ["pullo"]),
            ("koiran", {"koiran": "koira"}, ["koira"]),
            ("metsän", {"metsän": "metsä"}, ["metsä"]),
        ],
    ),
    "Turkish": (
        ["kırmızı bardak masada", "BÜYÜK KÖPEK KOŞUYOR", "İnce yeşil ağaç parkta"],
        [
            ("KIRMIZI", {"kirmizi": "kırmızı"}, ["kırmızı"]),
            ("köpekler", {"köpekler": "köpek"}, ["KÖPEK"]),
            ("ince ağaçlar", {"ağaçlar": "ağaç"}, ["İnce", "ağaç"]),
        ],
    ),
    "Korean": (
        ["빨간 컵 하나", "커다란 고양이 그림", "초록 나무 한 그루"],
        [
            ("컵이", {"컵이": "컵"}, ["컵"]),
            ("고양이가", {"고양이가": "고양이"}, ["고양이"]),
            ("나무를", {"나무를": "나무"}, ["나무"]),
        ],
    ),
    "Arabic": (
        ["كوب أحمر على الطاولة", "كلب كبير يجري", "شجرة خضراء في الحديقة"],
        [
            ("الكوب", {"الكوب": "كوب"}, ["كوب"]),
            ("والكلب", {"والكلب": "كلب"}, ["كلب"]),
            ("بالشجرة", {"بالشجرة": "شجرة"}, ["شجرة"]),
        ],
    ),
    "Hebrew": (
        ["ספל אדום על שולחן", "כלב גדול רץ", "פרח ירוק בגינה"],
        [
            ("הספל", {"הספל": "ספל"}, ["ספל"]),
            ("כלבים", {"כלבים": "כלב"}, ["כלב"]),
            ("והפרח פרחים", {"והפרח": "פרח", "פרחים": "פרח"}, ["פרח"]),
        ],
    ),
    "Polish": (
        ["żółty dom nad rzeką", "duży kot śpi", "zielone drzewo w parku"],
        [
            ("domu", {"domu": "dom"}, ["dom"]),
            ("kotami", {"kotami": "kot"}, ["kot"]),
            ("drzewach", {"drzewach": "drzewo"}, ["drzewo"]),
        ],
    ),
    "Czech": (
        ["červená kniha na stole", "velká kočka běží", "zelený strom v parku"],
        [
            ("knihy", {"knihy": "kniha"}, ["kniha"]),
            ("kočkou", {"kočkou": "kočka"}, ["kočka"]),
            ("stromech", {"stromech": "strom"}, ["strom"]),
        ],
    ),
    "Hungarian": (
        ["piros ház az utcán", "nagy kutya fut", "zöld virág nő a kertben"],
        [
            ("házban", {"házban": "ház"}, ["ház"]),
            ("kutyákkal", {"kutyákkal": "kutya"}, ["kutya"]),
            ("virágokat", {"virágokat": "virág"}, ["virág"]),
        ],
    ),
    "Greek": (
        ["κόκκινο βιβλίο", "μεγάλος σκύλος τρέχει", "πράσινο δέντρο"],
        [
            ("βιβλία", {"βιβλία": "βιβλίο"}, ["βιβλίο"]),
            ("ΣΚΎΛΟΙ", {"σκύλοι": "σκύλοσ"}, ["σκύλος"]),  # one sigma where folded
            ("δέντρων", {"δέντρων": "δέντρο"}, ["δέντρο"]),
        ],
    ),
    "German": (
        ["rote Tasse für Tee", "großer Hund läuft", "grüner Baum im Park"],
        [
            ("Kaffeetasse", {"kaffeetasse": "tasse"}, ["Tasse"]),
            ("Schäferhund", {"schäferhund": "hund"}, ["Hund"]),
            ("Apfelbaum", {"apfelbaum": "baum"}, ["Baum"]),
        ],
    ),
}


def learn(language):
    """Train on sixty pairs of a language, twenty of each text."""
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 3
    pairs = PairedSet.from_arrays(
        images=np.eye(3)[kinds] + 0.1 * rng.standard_normal((60, 3)),
        texts=[LANGUAGES[language][0][kind] for kind in kinds],
        labels=[[str(kind)] for kind in kinds],
    )
    return DCH(bits=32, text_features="words").fit(pairs), pairs


def join_marks(result):
    """Return what is marked in a text; marks that touch are one."""
    found: list[str] = []
    end = -1
    for match in result.matched:
        part = result.text[match.start : match.end]
        if match.start == end:
            part = found.pop() + part
        found.append(part)
        end = match.end
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_learned_and_found(language, tmp_path):
    queries = LANGUAGES[language][1]
    method, pairs = learn(language)
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
        searcher = Searcher(index)
        for kind, (query, read_as, marked) in enumerate(queries):
            assert searcher.reads(query, SearchParams(match="codes"))
            for match in ("codes", "words", "both"):
                found = searcher.by_text(query, k=5, match=match)
                assert {label for each in found for label in each.labels} == {str(kind)}
                assert found.query["read_as"] == read_as
                assert found.query["unknown_words"] == []
                shown = [join_marks(each) for each in found]
                assert shown == [[] if match == "codes" else marked] * 5
        with pytest.raises(UnknownWords):
            searcher.by_text("qwertz")


def test_a_word_is_matched_as_typed_and_as_it_is_read(tmp_path):
    method, pairs = learn("Finnish")
    more = PairedSet.from_arrays(images=np.eye(3)[:1], texts=["koiran talo"], ids=["z"])
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
        index.add(more)
        found = Searcher(index).by_text("koiran", k=30, match="words", facets=True)
        assert found.query["read_as"] == {"koiran": "koira"}
        assert len(found) == 21 and "z" in found.ids
        assert found.facets is not None and found.facets.items == 21
        assert {join_marks(each)[0] for each in found} == {"koira", "koiran"}


def test_all_languages_are_learned_at_once_by_the_default_method(tmp_path):
    texts = [
        (text, str(k)) for own, _ in LANGUAGES.values() for k, text in enumerate(own)
    ]
    kinds = np.array([int(kind) for _, kind in texts] * 4)
    rng = np.random.default_rng(0)
    pairs = PairedSet.from_arrays(
        images=np.eye(3)[kinds] + 0.1 * rng.standard_normal((len(kinds), 3)),
        texts=[text for text, _ in texts] * 4,
        labels=[[kind] for _, kind in texts] * 4,
    )
    method = FDCHPlus(bits=32, epoch_scale=0.1).fit(pairs)
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
        searcher = Searcher(index)
        for _, queries in LANGUAGES.values():
            for kind, (query, _, _) in enumerate(queries):
                for match in ("codes", "words", "both"):
                    found = searcher.by_text(query, k=4, match=match)
                    assert found.query["unknown_words"] == []
                    labels = {label for each in found for label in each.labels}
                    assert labels == {str(kind)}, (query, match)
