"""What matching words adds and costs."""

from dataclasses import replace

import numpy as np
import pytest

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
    return save_run(tmp_path / "run", "scm_seq", fitted, None, {}, found)


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


def test_texts_without_common_words_are_refused(run):
    with pytest.raises(DataError, match="Give more --gallery"):
        measured.word_quality(run, 200, 8)


def test_the_cost_is_that_of_codes_and_of_both():
    cost = word_cost(items=2000, bits=16, k=3, repeats=2)
    assert set(cost["seconds"]) == {"codes", "both"}
    assert len(cost["seconds"]["both"]["all"]) == 2
