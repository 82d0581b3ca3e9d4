"""The folder's benchmark: its table and its document."""

import json

import pytest

pytestmark = pytest.mark.integration

SMALL = ("--codes", 3000, "--items", 40, "--repeats", 1, "-k", 5)


def test_table_shows_codes_and_items(fdch):
    shown = fdch("bench", "index", *SMALL).stdout
    for name in ("create", "open", "bytes a code", "added a second", "vectors"):
        assert name in shown
    assert "label=dog" in shown


def test_json_counts_what_was_made(fdch, tmp_path):
    shown = fdch("bench", "index", *SMALL, "--place", tmp_path, "--json").stdout
    document = json.loads(shown)
    assert document["codes"]["number"] == 3000
    assert document["codes"]["disk_bytes_a_code"] >= 8
    items = document["items"]
    assert items["disk_bytes_an_item"] > 8
    assert items["filtered_again_seconds"].keys() == (
        items["filtered_search_seconds"].keys()
    )
    vectors = document["vectors"]
    assert vectors["vector_bytes"] == 32
    assert vectors["disk_bytes_an_item"] > items["disk_bytes_an_item"] + 32
    assert len(vectors["time_over_without"]["all"]) == 1
    assert not list(tmp_path.iterdir())
