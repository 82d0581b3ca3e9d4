"""Texts of many languages: trained on, and found by words in other forms."""

import numpy as np
import pytest

from fdch.data.pairs import PairedSet
from fdch.errors import UnknownWords
from fdch.methods.dch import DCH
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher

# texts about cups, dogs and trees, and a query for each with what is read otherwise
LANGUAGES: dict[str, tuple[list[str], list[tuple[str, dict[str, str]]]]] = {
    "Chinese": (
        ["红色的杯子在桌上", "一只大狗在跑", "公园里的绿树"],
        [("红杯子", {}), ("狗", {}), ("树", {})],
    ),
    "Japanese": (
        ["赤いカップがあります", "大きな犬が走る", "公園の緑の木"],
        [("カップ", {}), ("犬", {}), ("緑の木", {})],
    ),
    "Thai": (
        ["ถ้วยสีแดงบนโต๊ะ", "สุนัขตัวใหญ่วิ่ง", "ต้นไม้สีเขียวในสวน"],
        [("ถ้วย", {}), ("สุนัข", {}), ("ต้นไม้", {})],
    ),
    "Finnish": (
        ["punainen pullo pöydällä", "iso koira juoksee", "vihreä metsä puistossa"],
        [
            ("pullossa", {"pullossa": "pullo"}),
            ("koiran", {"koiran": "koira"}),
            ("metsän", {"metsän": "metsä"}),
        ],
    ),
    "Turkish": (
        ["kırmızı bardak masada", "BÜYÜK KÖPEK KOŞUYOR", "İnce yeşil ağaç parkta"],
        [
            ("KIRMIZI", {"kirmizi": "kırmızı"}),
            ("köpekler", {"köpekler": "köpek"}),
            ("ince ağaçlar", {"ağaçlar": "ağaç"}),
        ],
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_learned_and_found(language, tmp_path):
    sentences, queries = LANGUAGES[language]
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 3
    pairs = PairedSet.from_arrays(
        images=np.eye(3)[kinds] + 0.1 * rng.standard_normal((60, 3)),
        texts=[sentences[kind] for kind in kinds],
        labels=[[str(kind)] for kind in kinds],
    )
    method = DCH(bits=32, text_features="words").fit(pairs)
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
        searcher = Searcher(index)
        for kind, (query, read_as) in enumerate(queries):
            found = searcher.by_text(query, k=5)
            assert {label for each in found for label in each.labels} == {str(kind)}
            assert found.query["read_as"] == read_as
            assert found.query["unknown_words"] == []
        with pytest.raises(UnknownWords):
            searcher.by_text("qwertz")
