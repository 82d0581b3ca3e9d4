"""FDCH+ from pairs to results: the index keeps its numbers and orders by them."""

import numpy as np
import pytest

from fdch.codes import binarize
from fdch.methods.fdch_plus import FDCHPlus
from fdch.retrieval.encoders import open_encoder
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher


@pytest.fixture(scope="module")
def pairs(factor_pairs):
    return factor_pairs(150)


@pytest.fixture(scope="module")
def method(pairs):
    return FDCHPlus(bits=16, epoch_scale=0.1, text_features="words").fit(pairs)


@pytest.fixture(scope="module")
def searcher(method, pairs, tmp_path_factory):
    path = tmp_path_factory.mktemp("plus") / "index"
    with Index.create(path, method) as index:
        index.add(pairs)
        assert index.store.vector_bytes == method.bytes_per_item - 2 == 8
    with Searcher(path) as searcher:
        yield searcher


def score(method, pairs, order):
    """Score all items of an index as the evaluation does."""
    sides = pairs.images.values, method.inputs.texts(pairs.texts)
    codes = binarize(method.pair_outputs(*sides))
    return order.score(codes, method.ordering.pair_vectors(*sides))[0]


def best(pairs, scores, k, without=None):
    rows = [row for row in np.argsort(-scores, kind="stable") if row != without]
    return [str(pairs.ids[row]) for row in rows[:k]]


def test_texts_order_all_items_as_the_evaluation_does(searcher, method, pairs):
    for row in range(5):
        vector = np.asarray(pairs.texts.matrix[[row]].todense()).ravel()
        order = method.ordering.weigh_texts(method.inputs.texts(pairs.texts[[row]]))
        found = searcher.by_text(vector, k=8)
        assert found.ids == best(pairs, score(method, pairs, order), 8)


def test_images_order_all_items_as_the_evaluation_does(searcher, method, pairs):
    order = method.ordering.weigh_images(pairs.images.values[[3]])
    found = searcher.by_image(pairs.images.values[3], k=8)
    assert found.ids == best(pairs, score(method, pairs, order), 8)


def test_an_item_orders_by_what_is_stored_of_it(searcher, method, pairs):
    sides = pairs.images.values[[3]], method.inputs.texts(pairs.texts[[3]])
    code = binarize(method.pair_outputs(*sides))
    order = method.ordering.weigh_items(code, method.ordering.pair_vectors(*sides))
    scores = score(method, pairs, order)
    found = searcher.by_id(str(pairs.ids[3]), k=8)
    assert found.ids == best(pairs, scores, 8, without=3)


def test_an_export_says_that_it_does_not_order(searcher, tmp_path, caplog):
    pytest.importorskip("onnxruntime")
    writing = pytest.importorskip("fdch.export.onnx_files")
    writing.export_run(searcher.index.run, tmp_path / "exported")
    assert open_encoder(searcher.index, "torch") is None
    assert not caplog.messages
    encoder = open_encoder(searcher.index, tmp_path / "exported")
    [said] = caplog.messages
    assert "results are not ordered by the vectors of the index" in said
    assert encoder is not None
    vector = np.ones(encoder.inputs.text_width)
    found = Searcher(searcher.index, encoder).by_text(vector)
    distances = [each.distance or 0 for each in found]
    assert distances == sorted(distances)
