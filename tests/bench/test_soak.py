"""The soak sees what a service loses or answers wrongly."""

import random

import pytest

from fdch.bench.soak.campaign import judge_memory, soak_benchmark
from fdch.bench.soak.clients import Known, SoakClient
from fdch.cli.bench.soak import require_sound
from fdch.cli.shared.groups import Failure
from fdch.index.store import Item
from fdch.retrieval.results import Result, Results

SOUND = {
    "minutes": 2.0,
    "items": [40, 41],
    "acts": {"put": 3},
    "samples": [
        {
            "requests": 5,
            "milliseconds": {"p50": 1.0, "p99": 2.0, "max": 3.0},
            "memory_bytes": size * 2**20,
            "open_files": 9,
            "threads": 7,
            "processor_seconds": 0.5,
            "failed": 0,
        }
        for size in (100, 103)
    ],
    "memory": judge_memory([100 * 2**20, 103 * 2**20]),
    "wrong": [],
    "failed": [],
    "lost": [],
    "damage": [],
    "exit_code": 0,
}


def test_a_sound_result_passes():
    require_sound(SOUND)


@pytest.mark.parametrize(
    ("problem", "reported"),
    [
        ({"wrong": ["a"]}, "1 wrong answers: a"),
        ({"failed": ["a", "b"]}, "2 failed requests: a; b"),
        ({"lost": ["an item"]}, "differ from what was acknowledged: an item"),
        ({"damage": ["a byte"]}, "damage: a byte"),
        ({"memory": {"is_bounded": False}}, "memory grew"),
        ({"exit_code": 3}, "exit code 3"),
    ],
)
def test_whatever_is_wrong_fails(problem, reported):
    with pytest.raises(Failure, match=reported):
        require_sound({**SOUND, **problem})


def test_memory_that_grows_after_the_first_quarter_is_reported():
    assert judge_memory([10, 90, *[100] * 14])["is_bounded"]
    found = judge_memory([100 + 10 * i for i in range(16)])
    assert (found["bytes_a_sample"], found["is_bounded"]) == (10, False)


@pytest.mark.parametrize(
    ("found", "is_right"),
    [
        ([("a", 0), ("b", 1)], True),
        ([("b", 1), ("a", 0)], False),
        ([("a", 0)], False),
        ([("a", 0), ("c", 1)], False),
        ([("a", 1), ("b", 1)], False),
    ],
)
def test_a_wrong_answer_is_reported(found, is_right):
    own = {"a": Known(b"\x00"), "b": Known(b"\x01")}
    client = SoakClient("ann", 1, own, [], [], random.Random(0))
    results = tuple(Result(Item(name), bits, None) for name, bits in found)
    client._check(Known(b"\x00"), Results({}, results, 2, 0.0))
    assert client.wrong == [] if is_right else len(client.wrong) == 1


@pytest.mark.integration
def test_the_service_lasts_some_seconds():
    found = soak_benchmark(0.1, 20, 400, seed=1)
    require_sound(found)
    assert len(found["samples"]) == 2
    assert sum(found["acts"].values()) >= 20
