"""Paired differences between runs over the same queries."""

from dataclasses import replace

import numpy as np
import pytest

from fdch.codes import binarize
from fdch.errors import SettingError
from fdch.evaluation import Coded, CodedPairs, Protocol, score_galleries, sign_flip_p
from fdch.evaluation.comparing.paired import (
    paired_differences,
    paired_table,
)

QUERIES = 60


def run(method="fdch", noise=1.0, bits=16, seed=0, unified=False):
    """Scores of codes that follow the labels, with some bits turned."""
    random = np.random.default_rng([seed, bits, int(10 * noise)])
    directions = np.random.default_rng(7).normal(size=(4, bits))
    drawn = np.random.default_rng(seed).random((QUERIES + 100, 4)) < 0.4
    labels = drawn.astype(np.uint8)
    labels[:, 0] = ~labels.any(axis=1) | drawn[:, 0]

    def code(rows):
        outputs = labels[rows] @ directions
        noisy = outputs + noise * random.normal(size=outputs.shape)
        return Coded(binarize(noisy), labels[rows])

    def pairs(rows):
        numbers = np.arange(len(labels[rows]))
        both = code(rows) if unified else None
        return CodedPairs(code(rows), code(rows), both, (numbers, numbers))

    protocol = Protocol("d", f"s{seed}", QUERIES, 100, 50, seed=seed)
    queries, database = pairs(slice(QUERIES)), pairs(slice(QUERIES, None))
    return score_galleries(method, queries, database, protocol)


def test_a_difference_is_the_mean_over_the_queries_of_both():
    good, bad = run(), run("dcmh", noise=4.0)
    found, reasons = paired_differences([bad, good], "precision_at_10")
    assert reasons == []
    assert [(each.gallery, each.direction) for each in found] == [
        ("modality", "image_to_text"),
        ("modality", "text_to_image"),
    ]
    key = "modality", "image_to_text", "precision_at_10"
    assert (found[0].method, found[0].reference) == ("fdch", "dcmh")
    assert found[0].difference == pytest.approx(good.means()[key] - bad.means()[key])
    assert found[0].low < found[0].difference < found[0].high
    assert found[0].low > 0
    assert found[0].p < 0.01
    assert found[0].queries == QUERIES


def test_the_difference_of_a_method_and_itself_is_none():
    (each, _), _ = paired_differences([run(), replace(run(), method="again")])
    assert (each.difference, each.low, each.high, each.p) == (0, 0, 0, 1)


def test_each_measure_can_be_paired():
    scores = [run(unified=True), run("dcmh", noise=3.0, unified=True)]
    assert len(paired_differences(scores, "ndcg_at_10")[0]) == 4
    assert len(paired_differences(scores, "map_worst")[0]) == 4
    assert len(paired_differences(scores, "partner_recall_at_50")[0]) == 2
    with pytest.raises(SettingError, match="did you mean 'ndcg_at_10'"):
        paired_differences(scores, "ndcg")


def test_median_ranks_are_not_paired():
    found, reasons = paired_differences([run(), run("dcmh")], "partner_median_rank")
    assert found == []
    assert reasons == ["partner_median_rank: a median has no per-query differences"]
    assert paired_differences([run()], "partner_median_rank") == ([], [])


def test_the_queries_of_all_seeds_are_pooled():
    seeds = (2, 0, 1)
    ours = [run(seed=seed) for seed in seeds]
    theirs = [run("dcmh", noise=2.0, seed=seed) for seed in reversed(seeds)]
    found, _ = paired_differences([*ours, *theirs])
    key = "modality", "image_to_text", "map"
    differences = np.concatenate(
        [
            run("dcmh", noise=2.0, seed=seed).queries[key] - run(seed=seed).queries[key]
            for seed in (0, 1, 2)
        ]
    )
    assert found[0].queries == 3 * QUERIES
    assert found[0].difference == pytest.approx(differences.mean())
    assert found[0].p == pytest.approx(sign_flip_p(differences), abs=1e-3)


def test_a_method_is_compared_at_its_own_length_where_there_is_one():
    scores = [
        run(),
        run(bits=32),
        run("dcmh"),
        run("dcmh", bits=32),
        run("imh", bits=8),
    ]
    found, _ = paired_differences(scores)
    pairs = {
        (f"{e.method} {e.bits}", f"{e.reference} {e.reference_bits}") for e in found
    }
    assert pairs == {
        ("fdch 32", "fdch 16"),
        ("dcmh 16", "fdch 16"),
        ("dcmh 32", "fdch 32"),
        ("imh 8", "fdch 16"),
    }


def test_a_query_that_one_has_no_score_for_is_left_out():
    one, other = run(), run("dcmh", noise=3.0)
    key = "modality", "image_to_text", "map"
    values = dict(other.queries)
    values[key] = values[key].copy()
    values[key][:5] = np.nan
    other = replace(other, queries=values)
    (each, _), _ = paired_differences([one, other])
    assert each.queries == QUERIES - 5


@pytest.mark.parametrize("field", ["split", "data", "cutoff", "queries"])
def test_runs_on_different_queries_are_not_paired(field):
    one, other = run(), run("dcmh")
    changed = {"cutoff": 10, "queries": 59}.get(field, "other")
    other = replace(other, protocol=replace(other.protocol, **{field: changed}))
    found, reasons = paired_differences([one, other])
    assert found == []
    assert reasons == [
        f"dcmh 16 and fdch 16: they were scored on different queries ({field})"
    ]


def test_other_training_does_not_keep_runs_from_being_paired():
    one, other = run(), run("dcmh")
    other = replace(other, protocol=replace(other.protocol, train=20, seed=9))
    assert len(paired_differences([one, other])[0]) == 2


def test_what_cannot_be_paired_is_reported_with_the_reason():
    one, other = run(), run("dcmh")
    _, reasons = paired_differences([one, replace(other, queries=None)])
    assert "no scores of single queries are kept for dcmh (seed 0)" in reasons[0]
    _, reasons = paired_differences([one, run(seed=1), other])
    assert reasons == ["dcmh 16 and fdch 16: they have 1 and 2 runs"]
    assert "no paired test of dcmh 16 and" in str(paired_table([], reasons))


def test_a_run_alone_has_nothing_to_be_paired_with():
    assert paired_differences([run()]) == ([], [])


def test_a_run_without_the_measure_has_no_difference():
    one, other = run(), run("dcmh")
    key = "modality", "image_to_text", "ndcg_at_10"
    values = {name: v for name, v in other.queries.items() if name != key}
    other = replace(other, queries=values)
    (each,), _ = paired_differences([one, other], "ndcg_at_10")
    assert each.direction == "text_to_image"


def test_the_table_has_signs_intervals_and_p_values():
    table = paired_table(*paired_differences([run("dcmh", noise=4.0), run()]))
    assert table.rows[0][:3] == ("fdch 16", "less dcmh 16", "modality")
    assert str(table.rows[0][4]).startswith("+0.")
    assert "95% interval" in table.header
