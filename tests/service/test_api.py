"""The API answers as a Searcher of the same index does, through fdch.Client."""

import io
import json

import httpx
import pytest
from click.testing import CliRunner
from PIL import Image
from tests.service.running import READ, TOKENS, picture_bytes, running

from fdch import Client, Searcher
from fdch.cli import cli
from fdch.client import content as client_content
from fdch.errors import DataError, ServiceError, UnknownWords
from fdch.retrieval.queries import encode_image_queries, encode_text_queries
from fdch.service.http import limits, messages

TEXT = "a red ball on the beach"


@pytest.fixture(scope="module")
def searcher(scenes):
    return Searcher(scenes.index)


def facts(results):
    return [
        (each.id, each.distance, each.probability, each.matched) for each in results
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3},
        {"radius": 6},
        {"radius": 12, "k": None},
        {"radius": 8, "k": 2},
        {"where": ["label=beach", "objects<3"]},
        {"rerank": True, "k": 5},
        {"rerank": None, "k": 5},
        {"min_probability": 0.5, "k": 50},
        {"match": "codes"},
        {"match": "words", "k": 4},
    ],
    ids=str,
)
def test_a_text_finds_what_a_searcher_finds(client, searcher, options):
    expected = searcher.by_text(TEXT, **options)
    found = client.by_text(TEXT, **options)
    assert facts(found) == facts(expected)
    assert found.query == expected.query
    assert [each.labels for each in found] == [each.labels for each in expected]
    assert [each.columns for each in found] == [each.columns for each in expected]


@pytest.mark.parametrize(
    ("options", "count"),
    [({}, 10), ({"k": 3}, 3), ({"radius": 64}, 240), ({"radius": 64, "k": 4}, 4)],
    ids=str,
)
def test_every_way_of_searching_gives_as_many_results(
    served, client, searcher, scenes, options, count
):
    url, given = f"{served.url}/v1/search", {"match": "codes", **options}
    words = ["search", scenes.index, "--text", TEXT, "--match", "codes", "--json"]
    for name, value in options.items():
        words += ["-k" if name == "k" else f"--{name}", value]
    done = CliRunner().invoke(cli, [str(word) for word in words])
    picture = scenes.pictures / f"{scenes.pairs.ids[3]}.png"
    files = {"image": picture.read_bytes()}
    replies = [
        json.loads(done.stdout),
        httpx.post(url, json={"text": TEXT, **given}).json(),
        httpx.get(url, params={"q": TEXT, **given}).json(),
        httpx.post(f"{url}/image", data=given, files=files).json(),
    ]
    found = [len(each["results"]) for each in replies]
    found += [len(each.by_text(TEXT, **given)) for each in (searcher, client)]
    assert found == [count] * 6


def test_a_late_page_of_a_radius_needs_no_k(served):
    given = {"text": TEXT, "radius": 64, "offset": 9_500}
    reply = httpx.post(f"{served.url}/v1/search", json=given)
    assert reply.status_code == 200
    assert reply.json()["results"] == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3, "radius": 12},
        {"where": ["label=beach", "objects<3"], "rerank": True, "min_probability": 0.1},
    ],
    ids=str,
)
def test_an_address_alone_searches_as_a_body_does(served, options):
    url = f"{served.url}/v1/search"
    got = httpx.get(url, params={"q": TEXT, **options}).json()
    posted = httpx.post(url, json={"text": TEXT, **options}).json()
    for each in (got, posted):
        del each["milliseconds"]
    assert got == posted


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "q: "),
        ("?q=", "q: "),
        ("?q=beach&k=0", "k: "),
        ("?q=beach&k=1&k=2", "'k' came 2 times"),
        ("?q=beach&text=beach", "no field 'text'"),
        ("?q=beach&where=" + "&where=".join("abcdefghijklmnopqr"), "where: "),
        ("?q=beach&where=label", "label"),
    ],
)
def test_a_wrong_address_is_refused_by_name(served, query, named):
    refused = httpx.get(f"{served.url}/v1/search{query}")
    assert refused.status_code == 422
    assert named in refused.json()["error"]["message"]


@pytest.mark.parametrize("has_picture", [False, True])
def test_parts_together_find_what_a_searcher_finds(
    client, searcher, scenes, has_picture
):
    names = [str(name) for name in scenes.pairs.ids[:4]]
    picture = scenes.pictures / f"{names[0]}.png" if has_picture else None
    parts = {"like": names[:2], "unlike": names[2:3], "avoid": ["Tree", "boat"]}
    options = {"k": 5, "offset": 3, "where": ["objects<3"], "group": 4}
    found = client.query("beach", picture, **parts, **options)
    expected = searcher.query("beach", picture, **parts, **options)
    assert facts(found) == facts(expected)
    assert [each.similar for each in found] == [each.similar for each in expected]
    assert found.query == {**expected.query, **({"image": None} if picture else {})}
    assert not set(names[:3]) & set(found.ids)


def test_a_typed_text_may_avoid_words(served):
    url = f"{served.url}/v1/search"
    got = httpx.get(url, params={"q": "beach -ball", "k": 5}).json()
    posted = httpx.post(url, json={"text": "beach", "avoid": ["ball"], "k": 5}).json()
    assert got["results"] == posted["results"]
    assert got["query"]["avoid"] == ["ball"]
    many = " ".join(f"-word{number}" for number in range(17))
    refused = httpx.get(url, params={"q": f"beach {many}"})
    assert refused.status_code == 422
    assert "16 entries at most; got 17" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"avoid": ["ball"]}, 422, "there is nothing to search for"),
        ({"like": ["nobody"]}, 404, "there is no item 'nobody'"),
        ({"like": ["scene1"], "unlike": ["scene1"]}, 422, "in like and in unlike"),
        ({"like": ["a"] * 33}, 422, "like: "),
        ({"text": "beach", "avoid": ["a"] * 17}, 422, "avoid: "),
        ({"id": "scene1", "like": ["scene2"]}, 422, "give one of text, texts and id"),
        ({"text": "beach", "offset": 9_999}, 422, "10,000 at most together"),
    ],
    ids=str,
)
def test_parts_that_cannot_be_used_are_refused(served, body, status, message):
    refused = httpx.post(f"{served.url}/v1/search", json=body)
    assert refused.status_code == status
    assert message in refused.json()["error"]["message"]


def test_several_texts_are_answered_together(client):
    texts = ["beach", "a boat on the lake", "city"]
    together = client.by_texts(texts, k=4)
    assert list(map(facts, together)) == [facts(client.by_text(t, k=4)) for t in texts]
    assert client.by_texts([]) == []


def test_more_texts_than_a_service_takes_are_requested_in_parts(client, monkeypatch):
    texts = ["beach", "a boat on the lake", "city", "zzzz", "beach"]
    monkeypatch.setattr("fdch.client.content.MAX_TEXTS", 2)
    with pytest.raises(ServiceError, match="after the first 2: text 2 of 2: no word"):
        client.by_texts(texts)
    together = client.by_texts(texts[:3], k=4)
    assert [each.query["text"] for each in together] == texts[:3]


def test_a_client_knows_how_much_a_service_gives():
    for name in ("MAX_RESULTS", "MAX_RESULTS_IN_ALL", "MAX_TEXTS"):
        assert getattr(client_content, name) == getattr(limits, name)


def test_a_text_without_known_words_is_named_among_others(client, searcher):
    for each, kind in ((client, ServiceError), (searcher, UnknownWords)):
        with pytest.raises(kind, match="text 2 of 3: no word of 'zzzz'"):
            each.by_texts(["beach", "zzzz", "city"])
    with pytest.raises(ServiceError, match="text 2 of 2: no word of 'zzzz'"):
        client.encode_texts(["beach", "zzzz"])


def test_an_item_finds_others_like_it(client, searcher, scenes):
    name = str(scenes.pairs.ids[7])
    found = client.by_id(name, k=9)
    assert facts(found) == facts(searcher.by_id(name, k=9))
    assert name not in found.ids


@pytest.mark.parametrize("options", [{}, {"k": 3, "where": ["label=beach"]}], ids=str)
def test_a_picture_finds_what_a_searcher_finds(client, searcher, scenes, options):
    path = scenes.pictures / f"{scenes.pairs.ids[3]}.png"
    expected = searcher.by_image(path, **options)
    assert facts(client.by_image(path, **options)) == facts(expected)
    assert facts(client.by_image(path.read_bytes(), **options)) == facts(expected)


def test_several_pictures_and_items_find_what_a_searcher_finds(
    client, searcher, scenes
):
    names = [str(name) for name in scenes.pairs.ids[:3]]
    paths = [scenes.pictures / f"{name}.png" for name in names]
    for search, queries in (("by_ids", names), ("by_images", paths)):
        found = getattr(client, search)(queries, k=4, where="label=beach")
        expected = getattr(searcher, search)(queries, k=4, where="label=beach")
        assert list(map(facts, found)) == list(map(facts, expected))


def test_codes_are_those_of_the_model(client, searcher, scenes):
    texts = ["beach", "city at night"]
    method = searcher.index.method
    assert client.encode_texts(texts) == encode_text_queries(method, texts).codes
    path = scenes.pictures / f"{scenes.pairs.ids[3]}.png"
    assert client.encode_image(path) == encode_image_queries(method, [path]).codes


def test_texts_to_encode_may_be_none_or_many(client, searcher):
    method = searcher.index.method
    none, texts = client.encode_texts([]), ["beach", "city at night"] * 300
    assert (len(none), none.bits) == (0, method.bits)
    assert client.encode_texts(texts) == encode_text_queries(method, texts).codes


def test_an_item_is_returned_without_the_path_of_its_picture(client, scenes):
    name = str(scenes.pairs.ids[5])
    item = client.item(name)
    assert item.id == name
    assert item.text == scenes.pairs.texts.values[5]
    assert item.kind == "pair"
    assert item.image == f"/v1/items/{name}/picture"


def test_the_picture_of_an_item_is_served_as_it_is(client, scenes):
    name = str(scenes.pairs.ids[5])
    assert client.picture(name) == (scenes.pictures / f"{name}.png").read_bytes()


@pytest.mark.parametrize("size", [16, 100, 1024])
def test_a_thumbnail_is_no_larger_than_requested(client, scenes, size):
    with Image.open(io.BytesIO(client.thumbnail(scenes.pairs.ids[5], size))) as small:
        assert small.format == "JPEG"
        assert max(small.size) <= size


def test_what_a_client_has_is_not_sent_again(served, scenes):
    for what in ("picture", "thumbnail"):
        address = f"{served.url}/v1/items/{scenes.pairs.ids[5]}/{what}"
        first = httpx.get(address)
        again = httpx.get(address, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert first.headers["x-content-type-options"] == "nosniff"


def test_thumbnails_are_made_once(served, scenes):
    address = f"{served.url}/v1/items/{scenes.pairs.ids[11]}/thumbnail?size=77"
    kept = served.service.current.pictures.shrink.cache_info
    before = kept()
    assert httpx.get(address).content == httpx.get(address).content
    assert kept().hits == before.hits + 1
    assert kept().misses == before.misses + 1


def test_the_index_is_described(client, scenes):
    facts = client.index()
    assert (facts.items, facts.bits) == (len(scenes.pairs), scenes.run.method.bits)
    assert facts.model == scenes.run.fingerprint
    assert facts.method == "fdch"
    assert facts.can_write is False
    labels = {each["name"]: each["count"] for each in facts.reply["labels"]}
    counts = scenes.pairs.labels.sum(axis=0)
    assert labels == dict(zip(scenes.pairs.label_names, counts, strict=True))
    columns = {each["name"]: each for each in facts.reply["columns"]}
    objects = [int(value) for value in scenes.pairs.columns["objects"]]
    assert columns["objects"]["numeric"] is True
    assert columns["objects"]["min"] == min(objects)
    assert columns["objects"]["max"] == max(objects)
    assert columns["scene"]["numeric"] is False
    assert sum(each["count"] for each in columns["scene"]["values"]) == facts.items
    assert facts.reply["kinds"] == {"pair": facts.items}
    assert facts.reply["health"]["sampled"] == facts.items


def test_replies_have_the_documented_shapes(served, scenes):
    def post(path, **content):
        return httpx.post(served.url + path, **content).json()

    def get(path):
        return httpx.get(served.url + path).json()

    messages.SearchReply.model_validate(post("/v1/search", json={"text": TEXT}))
    messages.BatchReply.model_validate(post("/v1/search", json={"texts": [TEXT]}))
    messages.EncodeReply.model_validate(post("/v1/encode", json={"text": TEXT}))
    messages.IndexReply.model_validate(get("/v1/index"))
    messages.ItemReply.model_validate(get(f"/v1/items/{scenes.pairs.ids[0]}"))
    messages.StateReply.model_validate(get("/ready"))
    messages.StateReply.model_validate(get("/health"))
    messages.ErrorReply.model_validate(get("/v1/items/nobody"))
    assert get("/v1/overview")["items"] == len(scenes.pairs)


def test_errors_say_what_was_wrong_and_what_to_do(client):
    with pytest.raises(ServiceError, match="no word of 'zzzz'") as caught:
        client.by_text("zzzz")
    assert (caught.value.status, caught.value.code) == (422, "unknown_words")
    with pytest.raises(ServiceError, match="no item of this id") as caught:
        client.item("nobody/at all")
    assert (caught.value.status, caught.value.code) == (404, "unknown_item")
    with pytest.raises(ServiceError) as caught:
        client.by_id("nobody")
    assert caught.value.status == 404
    with pytest.raises(ServiceError, match="no item has a column 'colour'") as caught:
        client.by_text(TEXT, where=["colour=red"])
    assert caught.value.status == 422
    with pytest.raises(DataError, match="No such file"):
        client.by_image("nowhere.png")


def test_one_wrong_query_leaves_its_neighbours_alone(served):
    """Those that are answered together do not share their errors."""
    from concurrent.futures import ThreadPoolExecutor

    texts = ["beach", "zzzz", "lake", "qqqq", "city"] * 8
    with served.client() as client, ThreadPoolExecutor(20) as pool:

        def search(text):
            try:
                return client.by_text(text, k=1).query["text"]
            except ServiceError as problem:
                return problem.code

        found = list(pool.map(search, texts))
    assert found == [t if t[0] not in "zq" else "unknown_words" for t in texts]


def test_health_and_readiness_are_reported(served, client):
    assert client.is_ready()
    assert httpx.get(f"{served.url}/health").json() == {"status": "alive"}
    with Client("http://127.0.0.1:9") as nobody:
        assert not nobody.is_ready()


def test_metrics_count_requests_and_codes(served, client):
    client.by_text(TEXT)
    text = httpx.get(f"{served.url}/metrics").text
    assert 'fdch_requests_total{method="POST",route="/v1/search",status="200"}' in text
    assert "fdch_request_seconds_bucket" in text
    assert "fdch_codes_scanned_total" in text
    assert 'fdch_waiting{index="index",queue="search"} 0.0' in text
    assert 'fdch_ready{index="index"} 1.0' in text


def test_every_reply_carries_the_security_headers(served):
    for path in ("/", "/health", "/v1/index", "/nowhere", "/docs", "/v1/items/x"):
        headers = httpx.get(served.url + path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_the_page_and_its_files_are_served(served):
    page = httpx.get(f"{served.url}/")
    assert page.headers["content-type"].startswith("text/html")
    again = httpx.get(f"{served.url}/", headers={"if-none-match": page.headers["etag"]})
    assert again.status_code == 304
    assert httpx.get(f"{served.url}/static/icon.svg").status_code == 200
    assert httpx.get(f"{served.url}/static/app.py").status_code == 404


def test_an_item_without_a_picture_has_none_to_serve(writer):
    writer.put("words only", text="a ball on the beach")
    item = writer.item("words only")
    assert (item.image, item.kind) == (None, "text")
    with pytest.raises(ServiceError, match="has no picture") as caught:
        writer.picture("words only")
    assert (caught.value.status, caught.value.code) == (404, "no_picture")


def test_a_missing_or_broken_picture_is_reported(scenes, tmp_path):
    from fdch import Index
    from fdch.data.pictures.images import PictureFiles

    paths = [tmp_path / name for name in ("gone.png", "broken.png", "odd.tif")]
    for path in paths:
        path.write_bytes(picture_bytes(kind="TIFF" if path.suffix == ".tif" else "PNG"))
    pairs = scenes.pairs[:3]
    from dataclasses import replace

    with Index.create(tmp_path / "index", scenes.run) as index:
        index.add(replace(pairs, images=PictureFiles(paths)))
    paths[0].unlink()
    paths[1].write_bytes(b"<script>alert(1)</script>")
    with running(tmp_path / "index") as it, it.client() as client:
        for name, code in zip(
            pairs.ids, ("picture_missing", "broken_picture"), strict=False
        ):
            for load in (client.picture, client.thumbnail):
                with pytest.raises(ServiceError) as caught:
                    load(name)
                assert (caught.value.status, caught.value.code) == (404, code)
                assert str(tmp_path) not in str(caught.value)
        served = httpx.get(f"{it.url}/v1/items/{pairs.ids[2]}/picture")
        assert served.headers["content-type"] == "image/jpeg"


def test_additions_of_another_process_are_seen(scenes, own_index):
    from dataclasses import replace

    from fdch import Index
    from fdch.data.pairs import PairedSet

    added: PairedSet = replace(scenes.pairs[:1], ids=scenes.pairs.ids[:1] + " again")
    with running(own_index, tokens=None) as it, it.client() as client:
        assert client.index().items == len(scenes.pairs)
        with Index.open(own_index, writable=True) as index:
            index.add(added)
        assert client.item(str(added.ids[0])).id == added.ids[0]
        assert client.index().items == len(scenes.pairs) + 1
        found = client.by_id(str(scenes.pairs.ids[0]), k=1000)
        assert str(added.ids[0]) in found.ids


def test_a_reading_token_reads_and_a_wrong_one_does_not(scenes, own_index):
    with running(own_index, tokens=TOKENS) as it:
        with it.client(READ) as client:
            assert client.by_text("beach", k=1).ids
        for token in (None, "a-wrong-token-of-some-length", READ[:-1], READ + "x"):
            with it.client(token) as client, pytest.raises(ServiceError) as caught:
                client.by_text("beach")
            assert (caught.value.status, caught.value.code) == (401, "unauthorized")
        for path in ("/health", "/ready", "/", "/docs", "/openapi.json"):
            assert httpx.get(it.url + path).status_code == 200
        for path in ("/metrics", "/v1/index", "/v1/overview", "/v1/items/scene1"):
            refused = httpx.get(it.url + path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"


def test_results_are_sorted_counted_and_noted(client, served):
    where = ["scene=beech", "objects>=1"]
    found = client.by_text("a car", where=where, facets=True)
    assert found.notes == ("no item has scene 'beech'; did you mean 'beach'?",)
    assert found.facets is not None
    assert found.facets.items == 0
    assert sum(count for _, count in found.facets.columns["scene"]) > 0
    found = client.by_text("a car", k=50, sort="-objects")
    numbers = [int(result.columns["objects"]) for result in found]
    assert numbers == sorted(numbers, reverse=True)
    assert found.facets is None
    address = f"{served.url}/v1/search"
    reply = httpx.get(f"{address}?q=a+car&sort=-objects&facets=true").json()
    assert reply["query"]["sort"] == "-objects"
    assert reply["facets"]["items"] == 240
    wrong = httpx.post(address, json={"text": "a car", "sort": "object"})
    assert wrong.status_code == 422
    assert "did you mean 'objects'" in wrong.json()["error"]["message"]
