import copy
import json
import math

import numpy as np
import pytest
from scipy import sparse

from fdch.codes import Codes, binarize
from fdch.errors import DataError, LabelError, SettingError
from fdch.evaluation import (
    Coded,
    CodedPairs,
    Protocol,
    Scores,
    average_precision,
    distance_histograms,
    evaluate_codes,
    score_galleries,
)
from fdch.evaluation.documents import to_plain
from fdch.progress import Update

PROTOCOL = Protocol("d" * 32, "s" * 32, queries=6, database=30, train=20, seed=3)


def coded(seed, items, bits=8):
    rng = np.random.default_rng(seed)
    labels = np.eye(3, dtype=np.uint8)[np.arange(items) % 3]
    return Coded(binarize(rng.standard_normal((items, bits))), labels)


BOTH = np.arange(6), np.arange(6)
QUERIES = CodedPairs(coded(0, 6), coded(1, 6), both=BOTH)
DATABASE = CodedPairs(coded(2, 30), coded(3, 30), coded(4, 30))


def scored(**options):
    return score_galleries("fdch", QUERIES, DATABASE, PROTOCOL, **options)


def test_the_document_has_the_promised_shape():
    document = json.loads(json.dumps(scored().to_json(), allow_nan=False))
    assert document["protocol"] == to_plain(PROTOCOL)
    assert document["method"] == "fdch" and document["bits"] == 8
    assert document["protocol"]["relevance"] == "shared label"
    assert document["protocol"]["ties"] == "expected"
    assert document["protocol"]["cutoff"] is None
    # 10 of 30 are relevant; (1 + relevant ones ahead) / rank, mean over all ranks
    at_random = np.mean([(1 + (j - 1) * 9 / 29) / j for j in range(1, 31)])
    assert document["chance"] == pytest.approx(at_random)
    for gallery in ("modality", "unified"):
        for direction in ("image_to_text", "text_to_image"):
            part = document["scores"][gallery][direction]
            assert {"map", "map_stable", "map_best", "map_worst"} <= set(part)
            assert set(part["precision_at"]) == {"1", "10", "100"}
            assert set(part["ndcg_at"]) == {"10"}
            low, high = part["intervals"]["ndcg_at_10"]
            assert low <= part["ndcg_at"]["10"] <= high
            assert set(part["intervals"]) >= {"map", "precision_at_1"}
            curve = document["lookup"][gallery][direction]
            assert curve["radius"] == list(range(9))
            assert len(curve["precision"]) == len(curve["recall"]) == 9
            assert curve["recall"][-1] == 1
    assert set(document["health"]) == {"image", "text", "unified"}
    assert document["intervals"]["confidence"] == 0.95
    assert list(document["partner"]) == ["modality"]
    for part in document["partner"]["modality"].values():
        assert set(part["recall_at"]) == {"1", "10", "50"}
        assert 1 <= part["median_rank"] <= 6
        assert part["queries"] == 6
        assert list(part["intervals"]) == [f"recall_at_{k}" for k in (1, 10, 50)]


def test_a_document_of_before_has_neither_gains_nor_partners_nor_intervals():
    document = scored().to_json()
    del document["partner"], document["intervals"]
    for directions in document["scores"].values():
        for part in directions.values():
            del part["ndcg_at"], part["intervals"]
    scores = Scores.from_json(document)
    assert (scores.partner, scores.intervals()) == ({}, {})
    assert ("modality", "image_to_text", "map") in scores.means()
    assert ("modality", "image_to_text", "ndcg_at_10") not in scores.means()
    assert "NDCG" not in str(scores)
    assert "interval" not in str(scores)


def test_a_document_is_read_back_whole():
    written = json.dumps(scored().to_json())
    again = Scores.from_json(json.loads(written))
    assert json.dumps(again.to_json()) == written


def test_how_many_were_ordered_is_read_back():
    document = scored().to_json()
    assert Scores.from_json(document).protocol.ordered == 0
    document["protocol"]["ordered"] = 40
    assert Scores.from_json(document).protocol.ordered == 40


def test_each_direction_queries_its_gallery():
    scores = scored().scores
    sides = {
        ("modality", "image_to_text"): (QUERIES.image, DATABASE.text),
        ("modality", "text_to_image"): (QUERIES.text, DATABASE.image),
        ("unified", "image_to_text"): (QUERIES.image, DATABASE.unified),
        ("unified", "text_to_image"): (QUERIES.text, DATABASE.unified),
    }
    for (gallery, direction), (query, database) in sides.items():
        assert database is not None
        alone = evaluate_codes(
            query.codes, database.codes, query.labels, database.labels
        )
        assert scores[gallery][direction].map == alone.map


def test_the_cutoff_of_the_protocol_is_applied():
    protocol = Protocol("d", "s", 6, 30, 20, cutoff=5)
    scores = score_galleries("fdch", QUERIES, DATABASE, protocol)
    counts = distance_histograms(
        QUERIES.image.codes,
        DATABASE.text.codes,
        QUERIES.image.labels,
        DATABASE.text.labels,
    )
    part = scores.scores["modality"]["image_to_text"]
    assert part.map == pytest.approx(average_precision(counts, cutoff=5).mean())
    assert part.map_worst <= part.map_stable <= part.map_best


def test_without_unified_codes_there_is_one_gallery():
    database = CodedPairs(DATABASE.image, DATABASE.text)
    scores = score_galleries("dcmh", QUERIES, database, PROTOCOL)
    assert set(scores.scores) == {"modality"}
    assert set(scores.health) == {"image", "text"}
    with pytest.raises(SettingError, match="dcmh has no codes of whole pairs"):
        score_galleries("dcmh", QUERIES, database, PROTOCOL, galleries=["unified"])


def test_an_unknown_gallery_is_refused():
    with pytest.raises(SettingError, match="pairs"):
        scored(galleries=["modality", "pairs"])


def test_pairs_without_a_text_are_missing_from_the_text_gallery():
    text = Coded(DATABASE.text.codes[:20], DATABASE.text.labels[:20])
    database = CodedPairs(DATABASE.image, text)
    part = score_galleries("dcmh", QUERIES, database, PROTOCOL).scores["modality"]
    alone = evaluate_codes(
        QUERIES.image.codes, text.codes, QUERIES.image.labels, text.labels
    )
    assert part["image_to_text"].map == alone.map


def test_queries_without_answers_are_counted_and_left_out():
    query, database = QUERIES.image, DATABASE.text
    labels = query.labels.copy()
    labels[:2] = 0
    some = evaluate_codes(query.codes, database.codes, labels, database.labels)
    rest = evaluate_codes(query.codes[2:], database.codes, labels[2:], database.labels)
    assert (some.queries, some.skipped) == (4, 2)
    assert some.map == pytest.approx(rest.map)
    assert some.lookup == rest.lookup


def test_labels_may_be_sparse():
    query, database = QUERIES.image, DATABASE.text
    labels = sparse.csr_array(query.labels), sparse.coo_matrix(database.labels)
    given = query.labels, database.labels
    codes = query.codes, database.codes
    assert evaluate_codes(*codes, *labels) == evaluate_codes(*codes, *given)
    with pytest.raises(LabelError, match="rows of different lengths"):
        evaluate_codes(*codes, [["dog"]] * 5 + [["dog", "cat"]], database.labels)


def test_nothing_relevant_at_all_is_an_error():
    query, database = QUERIES.image, DATABASE.text
    with pytest.raises(LabelError, match="none of the 6 queries"):
        evaluate_codes(query.codes, database.codes, query.labels * 0, database.labels)


@pytest.mark.parametrize("cutoff", [None, 50])
def test_random_codes_score_chance(cutoff):
    rng = np.random.default_rng(0)
    labels = np.eye(20)[rng.integers(20, size=4000)]
    codes = binarize(rng.normal(size=(4000, 16)))
    database = codes[2000:], labels[:2000], labels[2000:]
    found = evaluate_codes(codes[:2000], *database, cutoff=cutoff)
    assert found.map == pytest.approx(found.chance, rel=0.08)
    assert found.precision_at[100] == pytest.approx(found.lookup.chance, rel=0.08)
    assert found.lookup.chance == pytest.approx(0.05, abs=0.002)
    assert found.chance > (1.03 if cutoff is None else 1.8) * 0.05


def test_progress_reports_the_queries_done():
    updates: list[Update] = []
    query, database = QUERIES.image, DATABASE.text
    evaluate_codes(
        query.codes,
        database.codes,
        query.labels,
        database.labels,
        progress=updates.append,
    )
    assert [(update.done, update.total, update.unit) for update in updates] == [
        (6, 6, "query")
    ]


def test_the_printed_table_says_how_it_was_made():
    printed = str(scored())
    assert "fdch, 8 bits; chance 0.4022" in printed
    assert "image → text" in printed and "P@10" in printed
    assert "NDCG@10" in printed and "median rank" in printed
    assert "95% of the means of resampled queries" in printed
    assert "6 queries, 30 in the database, 20 for training" in printed
    assert "seed 3" in printed and "whole database" in printed


def change(document, path, value):
    *parents, last = path.split(".")
    for name in parents:
        document = document[name]
    document[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("bits", "16", "scores.bits must be a whole number of 1 or more; got '16'"),
        ("bits", True, "scores.bits"),
        ("method", None, "scores.method must be text"),
        ("protocol", [], "scores.protocol must be a JSON object"),
        ("protocol.seed", -1, "protocol.seed"),
        ("protocol.cutoff", 0, "protocol.cutoff"),
        ("scores.modality.image_to_text.map", 1.5, "a number from 0 to 1; got 1.5"),
        ("scores.modality.image_to_text.map", math.nan, "got nan"),
        ("scores.modality.image_to_text.precision_at", {"x": 1}, "ranks"),
        ("scores.modality.image_to_text.ndcg_at", {"10": 2}, "ndcg_at.10 must be"),
        ("scores.modality.image_to_text.intervals", {"map": [0.1]}, "2 values"),
        ("partner.modality.image_to_text.median_rank", "7", "a number"),
        ("partner.modality.image_to_text.queries", 0, "queries must be"),
        ("partner.modality.image_to_text.recall_at", 3, "recall_at must be"),
        ("partner.pairs", {}, "unknown gallery or direction 'pairs'"),
        ("partner.modality.both", {}, "partner.modality.both"),
        ("partner", {"one": {}, "two": {}}, "unknown gallery or direction 'one'"),
        ("lookup.modality.image_to_text.radius", [0, 2], "radius 0, 1, 2"),
        ("lookup.modality.image_to_text.recall", [None] * 9, "recall"),
        ("lookup.modality.image_to_text.precision", "x" * 99, "xxx[.][.][.]"),
        ("health.image.constant_bits", [None], "constant_bits"),
        ("scores.pairs", {}, "unknown gallery or direction 'pairs'"),
        ("scores", {}, "at least one gallery"),
    ],
)
def test_a_wrong_document_is_refused_by_the_place(path, value, message):
    document = copy.deepcopy(scored().to_json())
    change(document, path, value)
    with pytest.raises(DataError, match=message):
        Scores.from_json(document)


def test_a_missing_member_is_named():
    document = scored().to_json()
    del document["method"]
    with pytest.raises(DataError, match="no 'method'"):
        Scores.from_json(document)


def test_codes_of_any_program_are_scored():
    rng = np.random.default_rng(5)
    queries, database = (rng.choice([-1, 1], (n, 16)) for n in (6, 30))
    labels = [rng.integers(0, 2, (n, 3)) for n in (6, 30)]
    codes = Codes.from_signs(queries), Codes.from_signs(database)
    expected = evaluate_codes(codes[0], codes[1], labels[0], labels[1])
    assert evaluate_codes(queries, database, *labels) == expected
    assert evaluate_codes(codes[0].packed, codes[1], *labels) == expected
    torch = pytest.importorskip("torch")
    learned = torch.tensor(queries, dtype=torch.bfloat16, requires_grad=True)
    assert evaluate_codes(learned, database, *labels) == expected
    cut = evaluate_codes(queries.tolist(), database.tolist(), *labels, cutoff=5)
    assert cut == evaluate_codes(codes[0], codes[1], labels[0], labels[1], cutoff=5)


def test_scores_of_one_direction_have_a_short_repr_and_show_a_table_in_a_notebook():
    signs = np.array([[1, 1, 1, 1], [1, 1, 1, -1], [-1, -1, -1, -1]])
    labels = [[1, 0], [1, 0], [0, 1]]
    found = evaluate_codes(signs[:2], signs, labels[:2], labels, cutoff=3)
    assert repr(found) == "DirectionScores(mAP 1.0000, chance 0.8056, 2 queries)"
    html = found._repr_html_()
    assert html.startswith("<table><tr><th>mAP</th><th>stable</th>")
    assert html.endswith("<p>2 queries; chance 0.8056</p>")
    assert str(found).splitlines()[0].split()[:4] == ["mAP", "stable", "best", "worst"]


def test_scores_have_a_short_repr_and_show_all_tables_in_a_notebook():
    found = scored()
    part = found.scores["modality"]["image_to_text"]
    assert repr(found).startswith(
        f"Scores('fdch', 8 bits, mAP: modality image_to_text {part.map:.4f}, "
    )
    assert "\n" not in repr(found)
    assert found._repr_html_().count("<table>") == 3
