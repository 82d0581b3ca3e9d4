"""`fdch bench defaults`: settings compared on held-out pairs."""

import json
import re

import pytest

pytestmark = pytest.mark.integration


@pytest.fixture
def compare(fdch, features, tmp_path):
    data = features(tmp_path / "features.npz", pairs=200)
    trials = tmp_path / "trials.toml"
    trials.write_text('"strong ridge" = { ridge = 100.0 }\nweak = { ridge = 0.01 }\n')

    def run(*more):
        return fdch(
            *("bench", "defaults", data, "--method", "dch", "--trials", trials),
            *("--bits", 8, "--seeds", 2, "--out", tmp_path / "tried", *more),
        )

    return run


def test_a_table_has_the_defaults_and_every_trial(compare):
    result = compare("--query-pairs", 20, "--train-pairs", 100)
    assert result.exit_code == 0, result.stderr
    for name in ("defaults", "strong ridge", "weak", "modality mAP", "unified P@10"):
        assert name in result.stdout


def test_json_has_the_scores_of_each_seed(compare):
    result = compare("--only", "weak", "--json")
    found = json.loads(result.stdout)
    (trials,) = found["data"].values()
    assert {name: len(each) for name, each in trials.items()} == {
        "defaults": 2,
        "weak": 2,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "week"), "there is no trial 'week'.*weak"),
        (("--query-pairs", 20), "--query-pairs and --train-pairs together"),
    ],
)
def test_what_cannot_be_compared_is_refused(compare, options, message):
    result = compare(*options)
    assert result.exit_code != 0
    assert re.search(message, result.stderr)
