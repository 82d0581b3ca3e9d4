"""Example queries: random, the same twice, with right and wrong answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fdch.codes import hamming_distances
from fdch.data.texts import WordVectors
from fdch.report.evaluation_page import draw_examples


@pytest.mark.parametrize("direction", ["image_to_text", "text_to_image"])
@pytest.mark.parametrize("gallery", ["modality", "unified"])
def test_answers_are_the_nearest_in_order(evaluation, direction, gallery):
    queries = getattr(evaluation.query_codes, direction.split("_to_")[0])
    held = evaluation.database_codes.unified
    if gallery == "modality":
        held = getattr(evaluation.database_codes, direction.split("_to_")[1])
    for example in draw_examples(evaluation, direction, gallery=gallery, answers=60):
        away = hamming_distances(queries[example.query], held)[0]
        expected = sorted(range(60), key=lambda row: (away[row], row))
        assert [found.row for found in example.found] == expected
        assert [found.distance for found in example.found] == away[expected].tolist()


def test_right_answers_share_a_label(evaluation):
    for example in draw_examples(evaluation, "image_to_text", answers=60):
        wanted = set(evaluation.query.labels_of(example.query))
        for found in example.found:
            labels = set(evaluation.database.labels_of(found.row))
            assert found.right == bool(wanted & labels)
        assert example.relevant == np.mean([found.right for found in example.found])


def test_equal_seeds_draw_equal_queries(evaluation):
    def drawn(seed, direction="image_to_text"):
        return draw_examples(evaluation, direction, number=5, seed=seed)

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)
    assert [e.query for e in drawn(0)] != [e.query for e in drawn(0, "text_to_image")]


def test_more_examples_than_queries_are_all_queries(evaluation):
    drawn = draw_examples(evaluation, "text_to_image", number=500)
    assert [example.query for example in drawn] == list(range(20))


def test_rows_without_the_requested_side_are_not_found(evaluation):
    codes = evaluation.database_codes
    has_text = np.arange(60) >= 50
    fewer = replace(codes, text=codes.text[50:], has_text=has_text)
    changed = replace(evaluation, database_codes=fewer)
    for example in draw_examples(changed, "image_to_text", answers=60):
        assert sorted(found.row for found in example.found) == list(range(50, 60))


def test_sentences_are_shown_and_vectors_are_not(pairs, hostile):
    assert pairs.texts.text(0) == hostile
    matrix = csr_array(np.eye(len(pairs), 3, dtype=np.float32))
    assert replace(pairs, texts=WordVectors(matrix)).texts.text(1) is None
