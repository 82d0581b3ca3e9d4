"""Published numbers stand only beside scores on the paper's data."""

from dataclasses import replace

import pytest

from fdch.evaluation import DIRECTIONS
from fdch.reproduction.published import Published
from fdch.reproduction.recipe import load


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        ("mirflickr25k", {"imh", "lcmh", "dsph"}),
        ("nuswide", {"imh", "lcmh", "dsph", "mith"}),
    ],
)
def test_table_two_has_what_was_published_for_both_benchmarks(data, missing):
    published = Published.of(data)
    for method in load("table2").methods:
        has = {
            published.value(method, direction, bits) is not None
            for direction in DIRECTIONS
            for bits in (16, 32, 64)
        }
        assert has == {method not in missing}


def test_numbers_are_those_of_the_paper():
    flickr, nuswide = Published.of("mirflickr25k"), Published.of("nuswide")
    assert flickr.value("fdch_ii", "text_to_image", 16) == 0.6834
    assert flickr.value("seph_km", "image_to_text", 64) == 0.7277
    assert nuswide.value("fdch", "text_to_image", 32) == 0.6712


def test_later_methods_have_their_own_papers_numbers_and_say_how_they_differ():
    flickr, nuswide = Published.of("mirflickr25k"), Published.of("nuswide")
    assert flickr.value("mith", "image_to_text", 16) == 0.8464
    assert flickr.value("ucch", "text_to_image", 64) == 0.743
    assert nuswide.value("ucch", "image_to_text", 32) == 0.708
    assert "10,000 pairs" in flickr.notes["mith"]
    assert "VGG-19" in nuswide.notes["ucch"]


def test_the_ablation_is_printed_for_one_benchmark_and_length():
    assert Published.of("mirflickr25k").value("fdch_i", "image_to_text", 32) is None
    assert Published.of("nuswide").value("fdch_i", "image_to_text", 16) is None


@pytest.mark.parametrize("data", ["scenes", "notes", ""])
def test_other_data_has_no_numbers(data):
    published = Published.of(data)
    assert not published.values
    assert not published.notes


def test_a_part_of_the_benchmark_has_no_numbers(benchmark_pairs):
    assert Published.beside(benchmark_pairs).values
    assert not Published.beside(benchmark_pairs[:100]).values
    assert not Published.beside(replace(benchmark_pairs, name="mine")).values
