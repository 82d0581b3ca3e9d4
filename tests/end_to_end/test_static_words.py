"""Queries of words that no training text has, with static features."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from fdch import Index, Searcher
from fdch.cli import cli
from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.texts import Sentences
from fdch.errors import UnknownWords
from fdch.methods.dcmh import DCMH
from fdch.methods.fdch_plus import FDCHPlus
from fdch.runs.run import save_run
from fdch.service.index.answering import Query, answer_queries

pytest.importorskip("tokenizers")

GOODS = {
    "mugs": ("{} coffee mug", "{} travel mug with lid", "mug for tea, {}", "{} mug"),
    "bowls": ("{} soup bowl", "{} salad bowl", "bowl for cereal, {}", "{} bowl"),
    "lamps": ("{} desk lamp", "{} lamp with shade", "lamp to read by, {}", "{} lamp"),
    "chairs": ("{} office chair", "{} folding chair", "chair to dine, {}", "{} chair"),
}
COLOURS = ("red", "blue", "white", "green", "black", "yellow")
BITS = 24  # as other tests have: its kernels are compiled


@pytest.fixture(scope="module")
def run(theme_pairs, tmp_path_factory):
    method = DCMH(bits=BITS, epochs=30, text_hidden=64, batch_size=30,
                  text_features="words+static").fit(theme_pairs)  # fmt: skip
    return save_run(tmp_path_factory.mktemp("themes") / "run", method)


@pytest.fixture(scope="module")
def index(run, theme_pairs, tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("themes") / "index", run) as index:
        index.add(theme_pairs)
        yield index


def labels(found):
    return {label for result in found for label in result.labels}


def test_an_unknown_word_finds_what_it_means(index):
    searcher = Searcher(index)
    for word, theme in (("animal", "animals"), ("vehicle", "vehicles")):
        found = searcher.by_text(word, k=5)
        assert labels(found) == {theme}
        assert found.query["unknown_words"] == [word]
        assert found.notes == ("unknown words count by their embeddings alone",)


def test_the_default_method_finds_mugs_by_cup(tmp_path):
    listed = [
        (kind, form.format(colour))
        for kind, forms in GOODS.items()
        for form in forms
        for colour in COLOURS
    ]
    rng = np.random.default_rng(0)
    numbers = [list(GOODS).index(kind) for kind, _ in listed]
    pairs = PairedSet.from_arrays(
        images=np.eye(4)[numbers] + rng.normal(0, 0.2, (len(listed), 4)),
        texts=[text for _, text in listed],
        labels=[[kind] for kind, _ in listed],
    )
    method = FDCHPlus(bits=32, epoch_scale=0.1).fit(pairs)
    assert method.inputs.static_width
    with Index.create(tmp_path / "index", method) as index:
        index.add(pairs)
        searcher = Searcher(index)
        for word, read in (("cup", {}), ("mugs", {"mugs": "mug"})):
            found = searcher.by_text(word, k=10)
            assert labels(found) == {"mugs"}
            assert found.query["read_as"] == read


def test_unknown_words_are_named_and_known_ones_suggested(index):
    searcher = Searcher(index)
    word = index.method.inputs.vocabulary.words[0]
    slipped = word[:1] + word
    found = searcher.by_text(f"{word} qwertzuiop {slipped}")
    assert found.query["unknown_words"] == ["qwertzuiop", slipped]
    assert found.notes[0] == f"did you mean '{word}' for '{slipped}'?"
    assert searcher.by_text(word).query["unknown_words"] == []


def test_a_ready_vector_has_static_columns_too(index):
    vectors = index.method.inputs.texts(Sentences(["animal"])).toarray()
    searcher = Searcher(index)
    found = [(r.id, r.distance) for r in searcher.by_text(vectors[0], k=9)]
    assert found == [(r.id, r.distance) for r in searcher.by_text("animal", k=9)]


def test_a_text_without_any_word_is_refused(index):
    searcher = Searcher(index)
    with pytest.raises(UnknownWords, match=r"no word of '\?!' is known"):
        searcher.by_text("?!")
    assert searcher.by_text("dog ?!").query["unknown_words"] == ["?!"]


def test_onnx_runtime_finds_the_same(index, run):
    pytest.importorskip("onnxruntime")
    from fdch.retrieval.encoders import export_queries

    exported = Searcher(index, export_queries(run))
    for text in ("animal", "a dog by the sea", "car"):
        ours = [(r.id, r.distance) for r in Searcher(index).by_text(text, k=20)]
        assert [(r.id, r.distance) for r in exported.by_text(text, k=20)] == ours


def test_the_service_answers_unknown_words(index):
    queries = [Query("text", [text], None) for text in ("dog", "animal", "?!")]
    known, unknown, empty = answer_queries(Searcher(index), queries)
    assert known == index.method.encode_texts(Sentences(["dog"]))
    assert unknown == index.method.encode_texts(Sentences(["animal"]))
    assert isinstance(empty, UnknownWords)


def test_the_command_searches_for_unknown_words(index):
    folder = str(index.store.model_folder().parent)
    words = ["search", folder, "--text", "animal", "-k", "3", "--json"]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["results"]
    assert [result["labels"] for result in found] == [["animals"]] * 3


def test_texts_of_unknown_words_alone_can_be_added(run, theme_pairs, tmp_path):
    odd = replace(
        theme_pairs[:2],
        images=ImageFeatures(np.zeros((2, 8), np.float32)),
        texts=Sentences(["animal", "?!"]),
    )
    with Index.create(tmp_path / "index", run) as index:
        assert index.add(odd).new == 2
