"""What matching words adds and costs."""

from dataclasses import replace

import numpy as np
import pytest
from tests.vector_model import give_vectors

from fdch.bench import words as measured
from fdch.bench.words import word_cost
from fdch.data.texts import Sentences
from fdch.errors import DataError
from fdch.methods.scm_seq import SCMSeq
from fdch.runs.encoding import calibrate
from fdch.runs.run import save_run


@pytest.fixture
def run(sentence_pairs, monkeypatch, tmp_path):
    pairs = sentence_pairs(300)
    texts = [text.replace("-", "x") for text in pairs.texts.values]
    pairs = replace(pairs, texts=Sentences(texts))
    fitted = SCMSeq(bits=16).fit(pairs[:100])
    found = calibrate(fitted, pairs[100:200], pairs[:100])
    rows = np.arange(100, 300)
    monkeypatch.setattr(measured, "read_own_pairs", lambda run, context: pairs)
    monkeypatch.setattr(measured, "unseen_rows", lambda run, pairs: rows)
    return save_run(tmp_path / "run", fitted, calibration=found)


def test_words_are_found_where_they_stand_and_harm_nothing_where_not(run):
    result = measured.word_quality(run, 40, 5000)
    assert (result["queries"], result["gallery"]) == (40, 200)
    assert set(result["turns"]) == {"one word", "two words"}
    for ways in result["turns"].values():
        assert ways["words"]["holds_words"]["mean"] == 1.0
        assert ways["both"]["holds_words_over_codes"]["mean"] > 0.15
        # words in no text leave the order of codes
        assert ways["hidden"]["shares_label"] == ways["codes"]["shares_label"]
        assert ways["hidden"]["shares_label_over_codes"]["standard_error"] == 0
        assert 0 < ways["both"]["said"] < 1
    assert "half_hidden" in result["turns"]["two words"]
    assert measured.word_quality(run, 40, 5000) == result
    other = measured.word_quality(run, 40, 5000, tuning=True)
    assert other["turns"] != result["turns"]


def test_what_a_search_without_settings_lists_is_measured(run, monkeypatch):
    search, reordered = measured._Quality._search, []

    def check(quality, query, way, words):
        found, text = search(quality, query, way, words), " ".join(query.words)
        if words is None:
            expected = quality.searcher.by_text(text, match=way)
            assert found.results == expected.results
            by_codes = quality.searcher.by_text(text, match=way, rerank=False)
            reordered.append(found.ids != by_codes.ids)
        return found

    monkeypatch.setattr(measured._Quality, "_search", check)
    assert measured.word_quality(run, 20, 5000)["order"] == "codes"
    assert not any(reordered)
    give_vectors(monkeypatch, SCMSeq)
    result = measured.word_quality(run, 20, 5000)
    assert result["order"] == "vectors"
    assert any(reordered)
    for ways in result["turns"].values():
        assert ways["both"]["holds_words_over_codes"]["mean"] > 0
        # words in no text leave the order of vectors
        assert ways["hidden"]["shares_label"] == ways["codes"]["shares_label"]
        assert ways["hidden"]["shares_label_over_codes"]["standard_error"] == 0


def test_texts_without_common_words_are_refused(run):
    with pytest.raises(DataError, match="Give more --gallery"):
        measured.word_quality(run, 200, 8)


def test_the_cost_is_that_of_codes_and_of_both():
    cost = word_cost(items=2000, bits=16, k=3, repeats=2)
    assert set(cost["seconds"]) == {"codes", "both"}
    assert len(cost["seconds"]["both"]["all"]) == 2
