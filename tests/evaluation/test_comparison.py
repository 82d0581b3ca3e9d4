from dataclasses import replace

import pytest

from fdch.errors import DataError, ProtocolMismatch, SettingError
from fdch.evaluation import (
    LookupCurve,
    Protocol,
    Scores,
    comparison,
)
from fdch.evaluation.documents import from_plain, to_plain
from fdch.evaluation.partner import PartnerScores
from fdch.evaluation.scores import DirectionScores

PROTOCOL = Protocol("d0", "s0", queries=2000, database=18_015, train=5000)
CURVE = LookupCurve((0, 1), (0.5, 0.5), (0.5, 1.0))


def scores(method="fdch", bits=16, value=0.75, galleries=("modality",), **protocol):
    direction = DirectionScores(
        map=value,
        map_stable=value - 0.01,
        map_best=value + 0.1,
        map_worst=value - 0.1,
        precision_at={},
        chance=0.55,
        queries=2000,
        skipped=0,
        lookup=CURVE,
    )
    both = {
        "image_to_text": direction,
        "text_to_image": replace(direction, map=value / 2),
    }
    parts = {gallery: both for gallery in galleries}
    return Scores(method, bits, replace(PROTOCOL, **protocol), parts)


def test_methods_go_down_and_code_lengths_across():
    table = comparison(
        [scores(), scores("dcmh", value=0.7), scores(bits=32, value=0.8)]
    )
    assert table.header == (
        "method",
        "gallery",
        "image → text 16",
        "image → text 32",
        "text → image 16",
        "text → image 32",
        "chance",
    )
    assert [row[:-1] for row in table.rows] == [
        ("fdch", "modality", 0.75, 0.8, 0.375, 0.4),
        ("dcmh", "modality", 0.7, None, 0.35, None),
    ]
    assert [row[-1] for row in table.rows] == pytest.approx([0.55, 0.55])
    assert "2,000 queries, 18,015 in the database" in table.notes[-1]
    assert "split s0, seed 0" in table.notes[-1]


def test_galleries_have_rows_of_their_own():
    table = comparison([scores(galleries=("modality", "unified")), scores("dcmh")])
    assert [row[:2] for row in table.rows] == [
        ("fdch", "modality"),
        ("dcmh", "modality"),
        ("fdch", "unified"),
    ]


def test_another_measure_can_be_shown():
    table = comparison([scores()], measure="map_stable")
    assert table.rows[0][2] == pytest.approx(0.74)
    assert "database order" in table.notes[0]
    with pytest.raises(SettingError, match="did you mean 'map_best'"):
        comparison([scores()], measure="map_bst")


@pytest.mark.parametrize(("queries", "middle"), [(200, 100.5), (201, 101.0)])
def test_random_codes_put_partners_at_the_middle_rank(queries, middle):
    found = {"modality": {"image_to_text": PartnerScores({10: 0.1}, 40.0, queries)}}
    ranked = replace(scores(), partner=found)
    chance = ranked.chance_of("modality", "image_to_text", "partner_median_rank")
    assert chance == middle


def test_measures_at_ranks_can_be_shown_with_their_chance():
    ranked = scores()
    both = {
        direction: replace(part, precision_at={10: 0.9}, ndcg_at={10: 0.3})
        for direction, part in ranked.scores["modality"].items()
    }
    found = PartnerScores({10: 0.25, 50: 0.5}, 40.0, 200)
    partner = {"modality": dict.fromkeys(both, found)}
    ranked = replace(ranked, scores={"modality": both}, partner=partner)
    names = ("precision_at_10", "ndcg_at_10", "partner_recall_at_10")
    shown = {
        measure: comparison([ranked], measure=measure).rows[0][2:]
        for measure in (*names, "partner_recall_at_50", "partner_median_rank")
    }
    assert shown == {
        "precision_at_10": (0.9, 0.9, 0.5),
        "ndcg_at_10": (0.3, 0.3, None),
        "partner_recall_at_10": (0.25, 0.25, 0.05),
        "partner_recall_at_50": (0.5, 0.5, 0.25),
        "partner_median_rank": (40.0, 40.0, 100.5),
    }
    ranks = comparison([ranked], measure="partner_median_rank", over_seeds=True)
    assert "40.0" in str(ranks)
    assert "40.00" not in str(ranks)
    assert "& 40.0 &" in ranks.latex().replace("$", "")


def test_partners_are_looked_for_in_one_gallery():
    runs = [scores(galleries=("modality", "unified"))]
    table = comparison(runs, measure="partner_recall_at_10")
    assert [row[1] for row in table.rows] == ["modality"]


def test_different_protocols_are_refused_with_both_values():
    with pytest.raises(ProtocolMismatch) as caught:
        comparison([scores(), scores("dcmh", database=18_010, cutoff=50)])
    message = str(caught.value)
    assert "database 18015 and 18010" in message
    assert "cutoff None and 50" in message
    assert "over_seeds" not in message


def test_runs_trained_on_different_data_are_distinguished():
    here, there = scores(trained_on="d0"), scores("dcmh", trained_on="d7")
    with pytest.raises(ProtocolMismatch, match="trained_on 'd0' and 'd7'"):
        comparison([here, there])
    table = comparison([here, there], allow_mixed=True)
    assert "data d7" not in str(table.rows[0][-1])
    assert "0 for validation of data d7;" in str(table.rows[1][-1])


def test_scores_without_their_training_data_hide_no_difference():
    unstated, here = scores("imh"), scores(trained_on="d0")
    assert len(comparison([unstated, here]).rows) == 2
    with pytest.raises(ProtocolMismatch, match="trained_on"):
        comparison([unstated, here, scores("dcmh", trained_on="d7")])


def test_an_earlier_protocol_does_not_name_its_training_data():
    document = to_plain(PROTOCOL)
    assert document.pop("trained_on") == ""
    assert from_plain(Protocol, document, "protocol") == PROTOCOL


def test_a_different_seed_is_refused_with_the_way_out():
    with pytest.raises(ProtocolMismatch, match="over_seeds=True"):
        comparison([scores(), scores(seed=1, split="s1")])


def test_mixed_protocols_stand_in_their_rows():
    table = comparison([scores(), scores("dcmh", cutoff=50)], allow_mixed=True)
    assert table.header[-1] == "protocol"
    assert str(table.rows[0][-1]).endswith("whole database")
    assert str(table.rows[1][-1]).endswith("cut at 50")
    assert "s0" in str(table.rows[0][-1])


def test_one_method_under_two_protocols_has_two_rows():
    table = comparison([scores(), scores(cutoff=50)], allow_mixed=True)
    assert len(table.rows) == 2


def seeds(method, *values):
    return [
        scores(method, value=value, seed=seed, split=f"s{seed}")
        for seed, value in enumerate(values)
    ]


def test_seeds_are_averaged_when_requested():
    table = comparison(
        [*seeds("fdch", 0.7, 0.8), *seeds("dcmh", 0.6, 0.6)], over_seeds=True
    )
    assert [str(row[2]) for row in table.rows] == ["0.7500 ± 0.0707", "0.6000 ± 0.0000"]
    assert "over seeds 0, 1" in table.notes[1]
    assert "split" not in table.notes[2]


def test_one_seed_is_not_called_a_mean():
    table = comparison(seeds("fdch", 0.7), over_seeds=True)
    assert table.notes[1] == "seed 0 alone, so without a spread"


def test_other_differences_are_refused_over_seeds_too():
    runs = [scores(), scores(seed=1, split="s1", train=4000)]
    with pytest.raises(ProtocolMismatch, match="train 5000 and 4000"):
        comparison(runs, over_seeds=True)


def test_means_over_different_seeds_are_refused():
    runs = [*seeds("fdch", 0.7, 0.8), *seeds("dcmh", 0.6)]
    with pytest.raises(ProtocolMismatch, match="has seeds 0, 1, dcmh at 16 bits 0"):
        comparison(runs, over_seeds=True)
    table = comparison(runs, over_seeds=True, allow_mixed=True)
    assert [str(row[-1])[-10:] for row in table.rows] == ["seeds 0, 1", "e; seeds 0"]


@pytest.mark.parametrize("over_seeds", [True, False])
def test_a_run_given_twice_is_refused(over_seeds):
    with pytest.raises(DataError, match="give each run once"):
        comparison([scores(), scores()], over_seeds=over_seeds)


def test_nothing_to_compare_is_refused():
    with pytest.raises(DataError, match="no scores"):
        comparison([])
