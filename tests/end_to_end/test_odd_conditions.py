"""Wrong and odd conditions have their error or note in whatever way one searches."""

import json
import secrets

import httpx
import pytest
from click.testing import CliRunner
from tests.index.odd_conditions import ERROR, NOTE, ODD, SHOP
from tests.index.store_samples import random_codes
from tests.service.running import running

from fdch import Index, Searcher
from fdch.cli import cli
from fdch.errors import FdchError
from fdch.index.milvus import MilvusStore
from fdch.methods.scm_seq import SCMSeq

BITS = 16
# a server does not name the numbers next to one, nor the ends of a range
SHORTER_ON_MILVUS = {"price=21.5", "price>100", "date=2025"}


@pytest.fixture(scope="module")
def fill(sentence_pairs):
    """Make an index of the shop at a place."""
    method = SCMSeq(bits=BITS).fit(sentence_pairs(100))

    def fill_place(place):
        with Index.create(place, method) as index:
            index.store.add(SHOP, random_codes(len(SHOP), BITS))
        return str(place)

    return fill_place


@pytest.fixture(scope="module")
def folder(fill, tmp_path_factory):
    return fill(tmp_path_factory.mktemp("odd") / "shop.index")


@pytest.fixture(scope="module")
def by_command(folder):
    def search(written):
        words = ("search", folder, "--id", "item 0", "--where", written, "--json")
        found = CliRunner().invoke(cli, words, catch_exceptions=False)
        if found.exit_code == 0:
            return NOTE, json.loads(found.stdout)["notes"]
        assert found.exit_code == (2 if "Usage:" in found.stderr else 1)
        assert found.stdout == ""
        return ERROR, [found.stderr]

    return search


@pytest.fixture(scope="module")
def by_service(folder):
    with running(folder) as it, httpx.Client(base_url=it.url) as client:

        def search(written):
            query = {"id": "item 0", "where": [written]}
            found = client.post("/v1/search", json=query)
            if found.status_code == 200:
                return NOTE, found.json()["notes"]
            assert found.status_code == 422
            return ERROR, [found.json()["error"]["message"]]

        yield search


@pytest.fixture(scope="module")
def on_milvus(fill, milvus_server):
    place = fill(f"milvus://{milvus_server}/test_{secrets.token_hex(6)}")
    with Searcher(place) as searcher:

        def search(written):
            try:
                return NOTE, searcher.by_id("item 0", where=written).notes
            except FdchError as problem:
                return ERROR, [str(problem)]

        yield search
    MilvusStore.drop(place)


@pytest.mark.parametrize(("written", "kind", "expected"), ODD, ids=[o[0] for o in ODD])
@pytest.mark.parametrize(
    "way",
    [
        "by_command",
        "by_service",
        pytest.param("on_milvus", marks=pytest.mark.integration),
    ],
)
def test_no_condition_fails_silently(request, way, written, kind, expected):
    search = request.getfixturevalue(way)
    found, said = search(written)
    assert found == kind
    if way == "on_milvus" and written in SHORTER_ON_MILVUS:
        expected, _, _ = expected.partition(";")
    assert expected in " ".join(said)
