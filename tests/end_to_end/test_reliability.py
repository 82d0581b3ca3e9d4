"""Probabilities hold for scenes that nobody has seen."""

import pytest

from fdch.codes import binarize
from fdch.data.pairs import PairedSet
from fdch.evaluation import Coded
from fdch.evaluation.calibration.model import SIDES
from fdch.evaluation.calibration.reliability import check_probabilities
from fdch.runs.encoding import encode_sides


@pytest.fixture(scope="module")
def unseen(scenes, shared_cache):
    """Scenes that training did not generate: queries, and items to search."""
    known = len(scenes.pairs)
    pairs = PairedSet.read(f"scenes:{known + 240}")[known:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        encoded = encode_sides(scenes.run.method, pairs)
    return encoded[:120], encoded[120:]


@pytest.mark.parametrize("query_kind", SIDES)
@pytest.mark.parametrize("kind", SIDES)
def test_results_are_relevant_as_often_as_said(scenes, unseen, query_kind, kind):
    queries, items = unseen
    found = check_probabilities(
        scenes.run.calibration,
        queries,
        query_kind,
        Coded(binarize(items.outputs[kind]), items.labels),
        [kind] * len(items),
    )
    assert found is not None
    assert abs(found.gap) < 0.1
    assert found.error < 0.12
