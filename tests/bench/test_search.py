"""The benchmark measures every case and checks every answer."""

from dataclasses import replace

import numpy as np
import pytest

from fdch.bench import search as benchmark
from fdch.bench.clustered_codes import Source
from fdch.bench.search import SearchSizes, compacted_benchmark, scan_benchmark
from fdch.codes import Codes, hamming_distances
from fdch.errors import MissingExtra, SettingError
from fdch.index.search import lookup

faiss = pytest.importorskip("faiss")
ONE = SearchSizes(
    sizes=(500,),
    bits=(64,),
    batches=(3,),
    threads=(1,),
    kinds=("random",),
    k=5,
    repeats=1,
    peer_queries=5,
)
MANY = replace(
    ONE,
    sizes=(2000,),
    batches=(1, 9),
    threads=(1, 2),
    kinds=("random", "clustered"),
    repeats=2,
)


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    monkeypatch.setattr(benchmark, "MIN_SECONDS", 0.0)


def test_every_combination_is_measured():
    result = scan_benchmark(MANY)
    cases = [(c["kind"], c["batch"], c["threads"]) for c in result["cases"]]
    kinds = ("random", "clustered")
    assert cases == [(a, b, c) for a in kinds for b in (1, 9) for c in (1, 2)]
    assert result["answers_agree"]
    assert len(result["cases"][0]["ratio"]["all"]) == 2
    assert [case["peer_queries"] for case in result["cases"][:3]] == [1, 1, 5]


@pytest.mark.integration
@pytest.mark.parametrize("bits", [8, 24, 32, 128, 320, 512])
def test_other_lengths_agree_too(bits):
    assert scan_benchmark(replace(ONE, bits=(bits,)))["answers_agree"]


def test_a_wrong_answer_is_noticed(monkeypatch):
    right = lookup.nearest

    def wrong(*arguments, engine="auto", **options):
        found = right(*arguments, engine=engine, **options)
        if engine != "numpy":
            found[0].numbers[0] += 1
        return found

    monkeypatch.setattr(benchmark, "nearest", wrong)
    assert not scan_benchmark(ONE)["answers_agree"]


@pytest.mark.integration
def test_compaction_is_measured_beside_its_peers():
    sizes = replace(ONE, sizes=(40_000,), kinds=("clustered",), k=10)
    [case] = compacted_benchmark(sizes)["cases"]
    assert case["nearest"]["answers_agree"]
    assert case["nearest"]["ivf_probes"] is None or case["nearest"]["ivf_is_exact"]
    assert [one["radius"] for one in case["within"]] == [0, 1, 2, 4, 8, 12, 16, 24]
    assert all(one["answers_agree"] for one in case["within"])
    assert 8 < case["bytes_per_code"] < 40


class TestCodes:
    def test_clumps_have_a_tenth_of_their_bits_flipped(self):
        source = Source("clustered", 64)
        codes = source.draw(2000, 1)
        centres = Codes(source._centres(), 64)
        far = hamming_distances(codes, centres).min(axis=1)
        assert abs(far.mean() / 64 - 0.1) < 0.005

    def test_given_codes_are_repeated_with_noise(self):
        given = Codes(np.zeros((3, 8), dtype=np.uint8), 64)
        codes = Source("given", 64, given=given).draw(2000, 1)
        assert abs(hamming_distances(codes, given).mean() / 64 - 0.02) < 0.003

    def test_another_purpose_gives_other_codes(self):
        source = Source("clustered", 64)
        assert source.draw(5, 1) == source.draw(5, 1)
        assert source.draw(5, 1) != source.draw(5, 2)

    def test_given_codes_must_be_given(self):
        with pytest.raises(SettingError, match="64 bits"):
            Source("given", 64)

    def test_whole_bytes_are_drawn(self):
        with pytest.raises(SettingError, match="13 bits"):
            Source("random", 13)


def test_more_answers_than_codes_are_refused():
    with pytest.raises(SettingError, match="more than 500 codes"):
        replace(ONE, k=501)


def test_without_faiss_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"fdch\[bench\]"):
        scan_benchmark(MANY)
