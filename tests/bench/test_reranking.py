"""What re-ranking adds on unseen pairs, and what it costs."""

import pytest
from tests.vector_model import give_vectors

from fdch.bench.reranking import ordering_cost, search_quality
from fdch.data.split_drawing import SplitSizes
from fdch.errors import DataError, RunError
from fdch.runs.pipeline import TrainingTask, train_run

CHANCE = 0.34  # of sharing a label


@pytest.fixture(scope="module")
def run(tmp_path_factory, factor_pairs, write_features, quick):
    folder = tmp_path_factory.mktemp("quality")
    source = write_features(folder / "features.npz", factor_pairs(900))
    sizes = SplitSizes(query=20, train=360, validation=120)
    return train_run(
        TrainingTask(
            source, folder / "run", "fdch", bits=16, settings=quick, sizes=sizes
        )
    )


def test_figures_of_unseen_pairs(run):
    result = search_quality(run, queries=100)
    assert (result["queries"], result["gallery"]) == (100, 420)
    assert set(result["turns"]) == {
        *("image_to_pair", "text_to_pair", "image_to_text", "text_to_image")
    }
    for ways in result["turns"].values():
        assert list(ways) == ["plain", "reranked"]
        for found in ways.values():
            assert found["precision_at_10"] > CHANCE + 0.1
            assert found["map_at_100"] > CHANCE + 0.1
            assert 0 < found["ndcg_at_10"] <= 1
    assert search_quality(run, queries=100) == result


def test_the_order_of_vectors_is_measured_where_there_are_some(run, monkeypatch):
    give_vectors(monkeypatch, type(run.method))
    result = search_quality(run, queries=50)
    for ways in result["turns"].values():
        assert list(ways) == ["plain", "reranked", "by_vectors"]
        found = ways["by_vectors"]
        assert found["precision_at_10"] > CHANCE + 0.1
        assert found["precision_at_10"] != ways["plain"]["precision_at_10"]


def test_vectors_of_fdch_plus_order_small_data_better_than_codes(tmp_path, quick):
    settings = {**quick, "label_epochs": "20", "pair_epochs": "40", "pair_width": "32"}
    sizes = SplitSizes(query=20, train=200, validation=60)
    run = train_run(
        TrainingTask(
            "scenes:400", tmp_path / "run", "fdch_plus", bits=16, settings=settings,
            sizes=sizes,
        )
    )  # fmt: skip
    result = search_quality(run, queries=500)
    assert (result["queries"], result["gallery"]) == (45, 135)
    for name, ways in result["turns"].items():
        measures = ["precision_at_10", "ndcg_at_10", "map_at_100"]
        if not name.endswith("pair"):
            measures.append("partner_recall_at_10")
        assert list(ways) == ["plain", "reranked", "by_vectors"]
        assert all(list(found) == measures for found in ways.values())
        for measure in measures:
            assert ways["by_vectors"][measure] > ways["plain"][measure] + 0.1


def test_the_cost_is_that_of_both_orders():
    cost = ordering_cost(items=3000, bits=24, vector_bytes=5, k=2, repeats=3)
    assert (cost["items"], cost["bits"], cost["vector_bytes"]) == (3000, 24, 5)
    assert cost["candidates"] == 500
    assert list(cost["seconds"]) == ["scan", "by_codes", "by_vectors"]
    times = cost["seconds"]
    ratios = cost["by_vectors_over_by_codes"]["all"]
    assert len(ratios) == 3
    for turn, found in enumerate(ratios):
        above, below = (times[side]["all"][turn] for side in ("by_vectors", "by_codes"))
        assert found == pytest.approx(above / below)


def test_too_few_unseen_pairs_are_refused(
    tmp_path, factor_pairs, write_features, quick
):
    source = write_features(tmp_path / "features.npz", factor_pairs(200))
    sizes = SplitSizes(query=20, train=170)
    run = train_run(
        TrainingTask(
            source, tmp_path / "run", "fdch", bits=8, settings=quick, sizes=sizes
        )
    )
    with pytest.raises(DataError, match="10 labelled pairs"):
        search_quality(run, 500)
    write_features(tmp_path / "features.npz", factor_pairs(210))
    with pytest.raises(RunError, match="has changed"):
        search_quality(run, 500)
