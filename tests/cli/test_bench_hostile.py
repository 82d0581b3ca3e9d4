"""When the command fails, without a server."""

import pytest

from fdch.cli.bench.hostile import require_refused
from fdch.cli.shared.groups import Failure

pytestmark = pytest.mark.integration


def document(**changed):
    def each(name, milliseconds):
        return {
            "name": name,
            "expected": 422,
            "statuses": [422],
            "milliseconds": milliseconds,
        }

    return {
        "repeats": 2,
        "body_seconds": 0.5,
        "requests": [each("quick", 1.0), each("a bomb", 300.0)],
        "wrong": [],
        "slow": [],
        "right_requests": {"sent": 4, "failed": 0, "milliseconds": 5.0},
        "memory_bytes": [2**20, 2**21],
        "crowd": {
            "connections": 1200,
            "sent": 1000,
            "answered": 998,
            "share": 0.998,
            "is_enough": True,
            "milliseconds": {"p50": 5.0, "p99": 20.0},
        },
        "goes_on": True,
        **changed,
    }


def test_a_right_result_passes():
    require_refused(document())


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        ({"wrong": ["quick"]}, "wrong status: quick"),
        ({"slow": ["a bomb"]}, "over a second: a bomb"),
        ({"crowd": {"is_enough": False}}, "beside slow connections"),
        ({"goes_on": False}, "searches failed"),
    ],
)
def test_whatever_is_not_refused_in_time_fails(wrong, reported):
    with pytest.raises(Failure, match=reported):
        require_refused(document(**wrong))
