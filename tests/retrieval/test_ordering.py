"""Candidates found by codes are ordered by vectors, by default where there are some."""

import json

import numpy as np
import pytest
from tests.vector_model import LARGEST, WIDTH, FirstOutputs, give_vectors

from fdch.codes import Codes, binarize
from fdch.errors import ModelMismatch, SettingError
from fdch.methods.scm_seq import SCMSeq
from fdch.retrieval import candidates, ordering
from fdch.retrieval.index import Index
from fdch.retrieval.rebuilding import export_items
from fdch.retrieval.searcher import Searcher
from fdch.runs.encoding import calibrate
from fdch.training.ordering import to_units

BITS = 16


@pytest.fixture(scope="module")
def pairs(factor_pairs):
    return factor_pairs(400)


@pytest.fixture(scope="module")
def fitted(pairs):
    return SCMSeq(bits=BITS).fit(pairs)


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as context:
        yield context


@pytest.fixture(scope="module")
def path(fitted, pairs, patch, tmp_path_factory):
    give_vectors(patch, SCMSeq)
    path = tmp_path_factory.mktemp("ordered") / "index"
    calibration = calibrate(fitted, pairs[:100])
    with Index.create(path, fitted, calibration=calibration) as index:
        index.add(pairs)
    return path


@pytest.fixture(autouse=True)
def order_few(monkeypatch):
    monkeypatch.setattr(ordering, "VECTOR_CANDIDATES", 100)
    monkeypatch.setattr(ordering, "TIED_PLACE", 5)


@pytest.fixture
def searcher(path):
    with Searcher(path) as searcher:
        yield searcher


def to_step(value):
    """Return the nearest number that is stored, from -127 to 127."""
    return min(range(-127, 128), key=lambda step: abs(value - step / LARGEST))


def rank(fitted, pairs, code, query, k, candidates=100, leave_out=()):
    """Rank by plain loops in float64: nearest codes first, of these the best."""
    outputs = fitted.image_outputs(pairs.images.values)
    found = []
    for row, output in enumerate(outputs):
        far = sum((a >= 0) != (b >= 0) for a, b in zip(output, code, strict=True))
        stored = [to_step(float(np.tanh(value))) for value in output[:WIDTH]]
        score = sum(a * b for a, b in zip(stored, query.tolist(), strict=True))
        found.append((far, row, score))
    found = [each for each in sorted(found) if each[1] not in leave_out][:candidates]
    found.sort(key=lambda each: -each[2])  # stable: ties as codes have them
    return [str(pairs.ids[row]) for _, row, _ in found[:k]]


def test_results_come_in_the_order_of_vectors(searcher, fitted, pairs):
    for row in range(5):
        output = fitted.image_outputs(pairs.images.values[[row]])[0]
        right = rank(fitted, pairs, output, np.tanh(output[:WIDTH]), 7)
        found = searcher.by_image(pairs.images.values[row], k=7)
        assert found.ids == right
        assert found.query["rerank"] is True
        code = binarize(output[None])
        plain = searcher.index.search(code, 7)
        assert searcher.by_image(pairs.images.values[row], k=7, rerank=False).ids == (
            plain.ids[0].tolist()
        )
    images = [pairs.images.values[row] for row in range(5)]
    together = searcher.by_images(images, k=7)
    assert [each.ids for each in together] == [
        searcher.by_image(image, k=7).ids for image in images
    ]


def test_an_item_is_compared_by_its_own_vector(searcher, fitted, pairs):
    output = fitted.image_outputs(pairs.images.values[[3]])[0]
    stored = np.array([to_step(value) for value in np.tanh(output[:WIDTH])])
    right = rank(fitted, pairs, output, stored, 6, candidates=100, leave_out=[3])
    assert searcher.by_id("pair 3", k=6).ids == right
    plain = searcher.by_id("pair 3", k=6, rerank=False)
    assert plain.query["rerank"] is False
    assert "pair 3" not in plain.ids
    assert [each.distance for each in plain] == sorted(each.distance for each in plain)


def test_equal_codes_come_in_the_order_of_vectors_however_many(
    path, fitted, tmp_path, monkeypatch
):
    count = 500  # far more than candidates
    rng = np.random.default_rng(0)
    first = FirstOutputs(fitted)
    drawn = rng.standard_normal((count, first.bytes))
    # of one length, so that none is nearer to another than to itself
    vectors = np.round(120 * to_units(drawn)).astype(np.int8)
    codes = Codes(np.zeros((count, 2), np.uint8), BITS)
    ids = [f"same {row}" for row in range(count)]
    with Index.create(tmp_path / "index", fitted) as index:
        index.add_codes(ids, codes, model=index.fingerprint, vectors=vectors)
        numbers = index.add_numbered(
            codes[:2], model=index.fingerprint, vectors=vectors[:2]
        )
        searcher = Searcher(index)
        numbers_of = vectors.astype(float)
        scores = numbers_of @ numbers_of[7]
        right = [ids[row] for row in np.argsort(-scores, kind="stable")]
        ours = [id for id in searcher.by_id("same 7", k=5).ids if "same" in id]
        assert ours == [id for id in right if id != "same 7"][: len(ours)]
        assert len(ours) >= 3
        twin = searcher.by_id("same 0", k=1).ids
        assert twin == [str(numbers[0])]  # an equal vector, added later
        for module in (candidates, ordering):
            monkeypatch.setattr(module, "MAX_CANDIDATES", 100)
        assert searcher.by_id("same 0", k=1).ids != twin


def test_radius_conditions_and_probabilities_keep_their_meaning(searcher, pairs):
    image = pairs.images.values[1]
    near = searcher.by_image(image, radius=3)
    everything = searcher.by_image(image, radius=3, rerank=False)
    assert sorted(near.ids) == sorted(everything.ids)
    assert all(each.distance <= 3 for each in near)
    assert near.ids != everything.ids
    some = searcher.by_image(image, k=5, where="label=label 2")
    assert all("label 2" in each.labels for each in some)
    probabilities = {each.id: each.probability for each in everything}
    assert {each.id: each.probability for each in near} == probabilities
    least = float(np.median(list(probabilities.values())))
    sure = searcher.by_image(image, radius=3, min_probability=least)
    assert sure.ids == [each.id for each in near if each.probability >= least]
    few = searcher.by_image(image, k=4, min_probability=least)
    assert len(few) == 4
    assert all(each.probability >= least for each in few)


def test_an_encoder_without_vectors_orders_by_codes(path, pairs, patch):
    with patch.context() as without:
        without.setattr(SCMSeq, "ordering", None)
        with Searcher(path) as searcher:
            image = pairs.images.values[0]
            plain = searcher.by_image(image, k=9)
            assert plain.query["rerank"] is False
            distances = [each.distance or 0 for each in plain]
            assert distances == sorted(distances)
            assert searcher.by_image(image, k=9, rerank=True).query["rerank"] is True
            with pytest.raises(SettingError, match="has only its code"):
                searcher.by_id("pair 3", rerank=True)
            with (
                Index.open(path, writable=True) as index,
                pytest.raises(ModelMismatch, match="of 2 items; got none"),
            ):
                index.add(pairs[:2])


def test_changed_items_keep_their_vectors(path, pairs):
    with Index.open(path, writable=True) as index:
        before = index.store.fetch(["pair 9"])
        index.update(before.items)
        after = index.store.fetch(["pair 9"])
        assert after.codes == before.codes
        assert str(after.vectors) == str(before.vectors)
        index.add(pairs[9:10])
        assert str(index.store.fetch(["pair 9"]).vectors) == str(before.vectors)


def test_an_export_has_the_vectors(path, fitted, pairs, tmp_path):
    export_items(path, tmp_path / "items.jsonl")
    lines = map(json.loads, (tmp_path / "items.jsonl").read_text().splitlines())
    found = {line["id"]: bytes.fromhex(line["vector"]) for line in lines}
    own = fitted.ordering
    stored = own.image_vectors(pairs.images.values)
    assert found == {
        str(name): row.tobytes() for name, row in zip(pairs.ids, stored, strict=True)
    }


@pytest.mark.integration
def test_a_server_orders_as_a_folder_does(searcher, fitted, pairs, patch, milvus_url):
    with Index.create(milvus_url, fitted) as index:
        index.add(pairs)
        there = Searcher(index)
        for row in range(3):
            image = pairs.images.values[row]
            for params in ({}, {"radius": 4}, {"where": "label=label 2"}):
                ours = searcher.by_image(image, k=8, **params)
                assert there.by_image(image, k=8, **params).ids == ours.ids
            assert there.by_id(f"pair {row}", k=8).ids == (
                searcher.by_id(f"pair {row}", k=8).ids
            )
