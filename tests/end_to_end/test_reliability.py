"""Probabilities hold for scenes that nobody has seen."""

import numpy as np
import pytest

from fdch.codes import binarize, hamming_distances, weighted_distances
from fdch.data.pairs import PairedSet
from fdch.evaluation.calibration import SIDES, calibration_error
from fdch.runs.encoding import real_outputs


@pytest.fixture(scope="module")
def unseen(scenes, shared_cache):
    """Outputs and relevance of scenes that training did not generate."""
    known = len(scenes.pairs)
    pairs = PairedSet.read(f"scenes:{known + 120}")[known:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        outputs = real_outputs(scenes.run.method, pairs)
    labels = pairs.labels.astype(int)
    return outputs, labels @ labels.T > 0


@pytest.mark.parametrize("asking", SIDES)
@pytest.mark.parametrize("kind", SIDES)
def test_results_are_relevant_as_often_as_said(scenes, unseen, asking, kind):
    outputs, relevant = unseen
    codes = binarize(outputs[kind])
    others = ~np.eye(len(relevant), dtype=bool)
    plain = hamming_distances(binarize(outputs[asking]), codes)[others]
    weighted = weighted_distances(outputs[asking], codes)[others]
    calibration = scenes.run.calibration
    for distances, by_weight in ((plain, False), (weighted, True)):
        said = calibration.probabilities(
            asking, [kind] * len(distances), distances, by_weight
        )
        assert calibration_error(said, relevant[others]) < 0.08
        order = np.argsort(distances, kind="stable")
        assert np.all(np.diff(np.array(said)[order]) <= 0)
        # the probabilities tell something: they spread, and the sure ones are right
        sure = np.array(said) > 0.75
        assert relevant[others][sure].mean() > relevant[others].mean() + 0.15
