"""Several indexes under one service."""

import shutil
import threading
from types import SimpleNamespace

import httpx
import pytest
from tests.service.running import READ, TOKENS, WRITE, picture_bytes, wait_until

from fdch import Client, Index
from fdch.cli.serve import name_indexes
from fdch.errors import ServiceError, SettingError
from fdch.index.storage.folder import CodeFolder
from fdch.service.metrics import Metrics
from fdch.service.service import Service
from fdch.service.serving import listen, make_server


@pytest.fixture(scope="module")
def site(scenes, shared_cache, tmp_path_factory):
    """A service of two indexes; the second, 'archive', has an item less."""
    place = tmp_path_factory.mktemp("site")
    folders = [shutil.copytree(scenes.index, place / name) for name in ("a", "b")]
    with CodeFolder.open(folders[1], writable=True) as folder:
        removed = next(folder.batches(1)).items[0].id
        folder.remove([removed])
    metrics = Metrics()
    with pytest.MonkeyPatch.context() as patch, listen("127.0.0.1", 0) as listener:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        services = [
            Service(
                Index.open(folder, writable=True),
                tokens=TOKENS,
                name=name,
                metrics=metrics,
            )
            for name, folder in zip(("shop", "archive"), folders, strict=True)
        ]
        server = make_server(*services, names=None)
        run = {"sockets": [listener]}
        thread = threading.Thread(target=server.run, kwargs=run, daemon=True)
        thread.start()
        wait_until(lambda: all(each.is_ready for each in services))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield SimpleNamespace(url=url, removed=removed, folders=folders)
        server.should_exit = True
        thread.join(60)


def get(site, path, token=READ):
    headers = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{site.url}{path}", headers=headers)


def test_all_are_listed_and_the_first_needs_no_name(site):
    found = get(site, "/v1/indexes").json()["indexes"]
    assert [(each["name"], each["items"]) for each in found] == [
        ("shop", 240),
        ("archive", 239),
    ]
    assert [each["address"] for each in found] == ["/v1", "/v1/indexes/archive"]
    for path, items in (
        ("/v1/index", 240),
        ("/v1/indexes/shop/index", 240),
        ("/v1/indexes/archive/index", 239),
    ):
        assert get(site, path).json()["items"] == items


def test_each_answers_from_its_own_items(site):
    with (
        Client(site.url, READ) as shop,
        Client(site.url, READ, index="archive") as archive,
    ):
        assert shop.item(site.removed).id == site.removed
        with pytest.raises(ServiceError, match="no item of this id"):
            archive.item(site.removed)
        assert len(archive.by_text("beach", k=500)) == 239
        found = archive.by_text("beach", k=1)[0]
        assert found.image == f"/v1/indexes/archive/items/{found.id}/picture"
        assert get(site, found.image).content == archive.picture(found.id)
        assert archive.is_ready()


def test_each_is_written_by_itself(site):
    name = "with/slash"
    with Client(site.url, WRITE, index="archive") as archive:
        assert archive.put(name, image=picture_bytes())
        assert archive.picture(name) == picture_bytes()
        with (
            Client(site.url, READ) as shop,
            pytest.raises(ServiceError, match="no item of this id"),
        ):
            shop.item(name)
        assert archive.remove(name)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/indexes/nothing/search?q=beach", 404),
        ("/v1/indexes/shop", 404),
        ("/v1/indexes/%61rchive/index", 404),
        ("/v1/indexes/archive/indexes/archive/index", 404),
        ("/v1/indexes/archive/search?q=beach", 200),
        ("/v1/indexes/archive/../shop/index", 200),  # the client shortens it
    ],
)
def test_only_whole_names_are_known(site, path, status):
    assert get(site, path).status_code == status
    assert get(site, path, "wrong").status_code == 401


def test_an_unknown_index_gets_the_known_ones(site):
    error = get(site, "/v1/indexes/nothing/index").json()["error"]
    assert error["code"] == "unknown_index"
    assert "shop, archive" in error["hint"]


def test_counters_distinguish_indexes(site):
    text = get(site, "/metrics").text
    for name, items in (("shop", 240), ("archive", 239)):
        assert f'fdch_items{{index="{name}"}} {items}.0' in text
        assert f'fdch_ready{{index="{name}"}} 1.0' in text


def test_names_come_from_folders_or_are_given(tmp_path):
    odd = tmp_path / "a=b"
    odd.mkdir()
    milvus = "milvus://localhost:19530/photos"
    given = ["shop.index/", milvus, "old=x/shop.index", str(odd)]
    assert name_indexes(given) == {
        "shop": "shop.index/",
        "photos": milvus,
        "old": "x/shop.index",
        "a-b": str(odd),
    }


@pytest.mark.parametrize("given", [["a/x", "b/x.index"], ["..=x"], ["x=a", "x=b"]])
def test_names_differ(given):
    with pytest.raises(SettingError, match="a name of its own"):
        name_indexes(given)


@pytest.mark.integration
def test_a_visitor_chooses_between_indexes(browser, site):
    from playwright.sync_api import expect
    from tests.service.browsing import visit

    seen = visit(browser, site.url)
    page = seen.page
    page.add_init_script(f"sessionStorage.setItem('fdch-token', '{READ}')")
    seen.open()
    expect(page.locator("#about")).to_contain_text("240 items")
    page.get_by_label("Index", exact=True).select_option("archive")
    expect(page.locator("#about")).to_contain_text("239 items")
    seen.search("beach")
    ids = seen.ids()
    assert seen.query()["index"] == ["archive"]
    assert seen.query()["q"] == ["beach"]
    with Client(site.url, READ, index="archive") as archive:
        assert ids == archive.by_text("beach", k=24).ids
    page.go_back()
    expect(page.get_by_label("Index", exact=True)).to_have_value("archive")
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert seen.overflow() <= 0
    assert seen.barriers() == []
    assert seen.troubles == []
    page.context.close()
