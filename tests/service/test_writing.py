"""Items written and removed through the API: seen at once, and there for good."""

import errno
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.service.conftest import ITEMS
from tests.service.running import READ, TOKENS, WRITE, picture_bytes, running

from fdch import Index
from fdch.errors import IndexBusy, IndexFolderError, ServiceError
from fdch.index.storage.files.layout import PICTURES
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.messages import ItemRequest
from fdch.service.index.pictures import ItemPictures
from fdch.service.index.writing import Change, Put, Removal, Unfinished, Writer, Written

ODD_IDS = [
    "plain",
    "with/slash",
    "with/slash/picture",
    "a?b#c&d=e%20f+g",
    "ünïcødé 漢字 🎈",
    "../../etc/passwd",
    "%2e%2e",
    "a\\b",
    "x" * 300,
]


@pytest.fixture(scope="module")
def unwritten(scenes, tmp_path_factory):
    """A service for tests whose writes are all rejected."""
    index = tmp_path_factory.mktemp("unwritten") / "index"
    shutil.copytree(scenes.index, index)
    with running(index, tokens=TOKENS) as it:
        yield it


def kept(index):
    folder = Path(index) / PICTURES
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_a_written_item_is_found_at_once_and_after_a_restart(own_index):
    cells = {"price": 9.5, "stock": 3, "sold": False, "maker": "someone"}
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:
        assert client.put("new", text="a ball on the beach", labels=["ball", "new"])
        found = client.by_text("a ball on the beach", k=50, where=["label=new"])
        assert found.ids == ["new"]
        assert not client.put("new", text="a boat", labels=["boat"], columns=cells)
        assert client.by_text("boat", where=["price<10", "label=boat"]).ids == ["new"]
        assert client.index().can_write
    with running(own_index) as it, it.client() as client:
        item = client.item("new")
        assert (item.text, item.labels, item.columns) == ("a boat", ("boat",), cells)


def test_an_uploaded_picture_is_kept_and_served(writer, own_index):
    content = picture_bytes("blue", (60, 40))
    assert writer.put("photo", image=content, text="a boat on the lake")
    assert writer.picture("photo") == content
    assert writer.item("photo").kind == "pair"
    [path] = kept(own_index)
    assert path.read_bytes() == content
    assert "photo" not in path.name
    assert writer.put("alone", image=content)
    assert writer.item("alone").kind == "image"


def test_a_picture_goes_with_its_item(writer, own_index):
    first, second = picture_bytes("blue"), picture_bytes("green")
    writer.put("photo", image=first)
    writer.put("other", image=first)
    assert len(kept(own_index)) == 2
    writer.put("photo", image=second)
    writer.put("photo", image=second)
    assert {path.read_bytes() for path in kept(own_index)} == {first, second}
    assert writer.remove("photo")
    assert writer.picture("other") == first
    assert writer.remove("other")
    assert not kept(own_index)


def test_pictures_of_a_moved_index_are_still_served(own_index, tmp_path):
    content = picture_bytes("blue")
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:
        client.put("photo", image=content)
    moved = Path(shutil.move(own_index, tmp_path / "elsewhere"))
    with running(moved) as it, it.client() as client:
        assert client.picture("photo") == content


def test_a_text_sent_later_is_joined_with_the_picture(writer):
    writer.put("photo", image=picture_bytes("blue"), labels=["lake"])
    assert not writer.put("photo", text="a boat on the lake")
    item = writer.item("photo")
    assert (item.kind, item.labels) == ("pair", ("lake",))
    assert writer.picture("photo") == picture_bytes("blue")


@pytest.mark.parametrize("with_picture", [False, True])
def test_what_is_given_replaces_and_what_is_left_out_stays(writer, with_picture):
    image = picture_bytes("blue") if with_picture else None
    cells = {"price": 3, "maker": "someone"}
    writer.put("photo", text="a boat", image=image, labels=["a", "b"], columns=cells)
    for again in ({"text": "a ball"}, {"text": "a dog", "image": image}, {}):
        assert not writer.put("photo", **again)
        item = writer.item("photo")
        assert (item.labels, item.columns) == (("a", "b"), cells)
    writer.put("photo", text="a boat", labels=["c"])
    item = writer.item("photo")
    assert (item.text, item.labels, item.columns) == ("a boat", ("c",), cells)
    writer.put("photo", text="a boat", columns={"price": 4})
    item = writer.item("photo")
    assert (item.labels, item.columns) == (("c",), {"price": 4})
    writer.put("photo", text="a boat", labels=[], columns={})
    item = writer.item("photo")
    assert (item.labels, item.columns) == ((), {})
    assert item.kind == ("pair" if with_picture else "text")


def test_labels_alone_change_no_side_and_no_code(writer, writable, own_index):
    store, name = writable.service.index.store, "photo"
    cells = {"scene": "lake"}
    writer.put(name, text="a boat", image=picture_bytes("blue"), columns=cells)
    before, codes = writer.item(name), store.fetch([name]).codes
    # what is not encoded again needs no picture that can be read
    [path] = kept(own_index)
    path.unlink()
    assert not writer.put(name, labels=["new"], columns={"scene": None, "price": 3})
    assert writer.item(name) == replace(before, labels=("new",), columns={"price": 3})
    assert store.fetch([name]).codes == codes
    assert writer.by_text("beach", where=["label=new"]).ids == [name]


def test_labels_alone_make_no_item(writer):
    with pytest.raises(ServiceError, match="has no picture") as caught:
        writer.put("new", labels=["dog"])
    assert caught.value.status == 422


def test_changes_that_come_together_are_made_each_in_its_way(own_index, tmp_path):
    index = Index.open(own_index, writable=True)
    pictures = ItemPictures(tmp_path, ServiceLimits())
    puts: list[Change] = [
        Put("a", ItemRequest(text="a boat", labels=["x"])),
        Put("a", ItemRequest(labels=["y"])),
        Put("b", ItemRequest(labels=["y"])),
        Put("c", ItemRequest(text="a dog", labels=["z"])),
        Put("a", ItemRequest(text="a ball")),
    ]
    with index:
        writer = Writer(index, pictures, Unfinished(tmp_path))
        reply = [getattr(each, "existed", None) for each in writer.work(puts)]
        a, b, c = index.store.items(["a", "b", "c"])
    assert reply == [False, True, None, False, True]
    assert a is not None
    assert b is None
    assert c is not None
    assert (a.text, a.labels, c.labels) == ("a ball", ("y",), ("z",))


@pytest.mark.parametrize("name", ODD_IDS)
def test_any_id_can_be_written_read_and_removed(odd_writer, name):
    assert odd_writer.put(name, text="beach", image=picture_bytes())
    assert odd_writer.item(name).id == name
    assert odd_writer.picture(name) == picture_bytes()
    assert odd_writer.thumbnail(name, 20)
    assert odd_writer.by_id(name, k=1).ids
    assert odd_writer.remove(name)
    assert not odd_writer.remove(name)


@pytest.fixture(scope="module")
def odd_writer(scenes, tmp_path_factory):
    index = tmp_path_factory.mktemp("odd") / "index"
    shutil.copytree(scenes.index, index)
    with running(index, tokens=TOKENS) as it, it.client(WRITE) as client:
        yield client


def test_removed_items_are_gone(writer, scenes):
    name = str(scenes.pairs.ids[0])
    assert writer.remove(name)
    with pytest.raises(ServiceError, match="no item"):
        writer.item(name)
    assert name not in writer.by_text("beach", k=1000).ids
    assert not writer.remove(name)
    assert writer.index().items == len(scenes.pairs) - 1


def test_only_a_writing_token_writes(writable, served):
    with writable.client(READ) as reader, served.client() as anyone:
        for client in (reader, anyone):
            with pytest.raises(ServiceError) as put:
                client.put("x", text="beach")
            with pytest.raises(ServiceError) as removed:
                client.remove("x")
            for caught in (put, removed):
                assert caught.value.status == 403
                assert caught.value.code == "writing_refused"
    # one who has a token for reading only keeps the index free for other writers
    assert not served.service.can_write


def test_the_service_is_the_one_writer(writable, own_index):
    with pytest.raises(IndexBusy):
        Index.open(own_index, writable=True)


def test_writes_of_many_clients_are_all_there(writable, own_index):
    with writable.client(WRITE) as client, ThreadPoolExecutor(16) as pool:

        def write(number):
            return client.put(f"item {number % 60}", text="beach", labels=[str(number)])

        created = list(pool.map(write, range(90)))
    assert sum(created) == 60
    writable.stop()
    with Index.open(own_index) as index:
        found = index.store.items([f"item {number}" for number in range(60)])
    assert all(item is not None for item in found)


def test_one_wrong_item_leaves_its_neighbours_alone(writer):
    def write(number):
        text = "zzzz" if number % 3 == 0 else "beach"
        try:
            return writer.put(f"item {number}", text=text)
        except ServiceError as problem:
            return problem.code

    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(write, range(24)))
    assert done == ["unknown_words" if n % 3 == 0 else True for n in range(24)]


@pytest.mark.parametrize(
    "content",
    [
        {"text": "zzzz"},
        {"text": None},
        {"text": "beach", "labels": [""]},
        {"text": "beach", "labels": "beach"},
        {"text": "beach", "columns": {"label": "x"}},
        {"text": "beach", "columns": {"": 1}},
        {"text": "beach", "columns": {"deep": {"er": 1}}},
        {"text": "be\0ach"},
        {"text": "beach", "image": "/etc/passwd"},
        {"text": 5},
        [],
    ],
    ids=str,
)
def test_items_that_cannot_be_kept_are_refused(unwritten, scenes, content):
    reply = httpx.put(
        f"{unwritten.url}/v1/items/x",
        json=content,
        headers={"authorization": f"Bearer {WRITE}"},
    )
    assert reply.status_code == 422, reply.text
    assert reply.json()["error"]["message"]
    with unwritten.client(WRITE) as writer:
        assert writer.index().items == len(scenes.pairs)


def test_a_broken_upload_leaves_nothing_behind(writer, own_index):
    whole = picture_bytes("blue", (200, 200), "JPEG")
    for content in (b"", b"<html>", whole[: len(whole) // 2]):
        with pytest.raises(ServiceError) as caught:
            writer.put("broken", image=content, text="beach")
        assert (caught.value.status, caught.value.code) == (422, "broken_picture")
    with pytest.raises(ServiceError, match="no item"):
        writer.item("broken")
    assert not kept(own_index)


def test_uploads_have_a_quota(own_index):
    first, second = picture_bytes("red"), picture_bytes("blue")
    limits = ServiceLimits(upload_quota=max(len(first), len(second)))
    for is_there in (False, True):  # what an earlier service has kept counts too
        with (
            running(own_index, tokens=TOKENS, limits=limits) as it,
            it.client(WRITE) as client,
        ):
            assert client.put("first", image=first) is not is_there
            with pytest.raises(ServiceError, match="bytes they may take") as caught:
                client.put("second", image=second)
            assert (caught.value.status, caught.value.code) == (507, "quota_full")
            assert client.put("third", text="a beach") is not is_there  # no room taken
            if is_there:
                assert client.remove("first")
                assert client.put("second", image=second)
    assert len(kept(own_index)) == 1


def test_pictures_need_a_place(scenes, own_index, tmp_path):
    place = tmp_path / "elsewhere"
    with running(own_index, tokens=TOKENS, pictures=place) as it:
        with it.client(WRITE) as client:
            client.put("photo", image=picture_bytes())
            assert len(list(place.iterdir())) == 1
            it.service.current.pictures.folder = None
            with pytest.raises(ServiceError) as caught:
                client.put("another", image=picture_bytes())
        assert caught.value.status == 409
        assert caught.value.code == "no_place_for_pictures"


@pytest.mark.slow
def test_a_collection_on_milvus_is_served_as_a_folder_is(scenes, milvus_url, tmp_path):
    with Index.create(milvus_url, scenes.run) as index:
        index.add(scenes.pairs[:60])
    with (
        running(milvus_url, tokens=TOKENS, pictures=tmp_path / "pictures") as it,
        it.client(WRITE) as client,
    ):
        assert len(client.by_text("beach", k=7)) == 7
        name = str(scenes.pairs.ids[0])
        assert client.by_id(name, k=3).ids
        assert client.thumbnail(name)
        assert client.put("new", text="a ball", image=picture_bytes(), labels=["new"])
        assert client.by_text("ball", where=["label=new"]).ids == ["new"]
        assert client.picture("new") == picture_bytes()
        assert client.index().items == 61
        reply = client.index().reply
        assert reply["labels"] is None
        assert reply["uncounted"] == "a Milvus server does not count items by value."
        assert client.remove("new")
        assert not client.remove("new")
        with pytest.raises(ServiceError, match="no item"):
            client.item("new")


class Full:
    """Pictures for which there is no room."""

    def __init__(self, pictures, number, text):
        self._pictures, self._error = pictures, OSError(number, text)

    def __getattr__(self, name):
        return getattr(self._pictures, name)

    def keep(self, path, content):
        raise self._error


@pytest.mark.parametrize(
    ("number", "status", "reply"),
    [(errno.ENOSPC, 507, "is full"), (errno.EROFS, 503, "Read-only")],
)
def test_a_disk_that_fails_fails_only_what_it_should_have_kept(
    own_index, caplog, number, status, reply
):
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:
        writer = it.service.current.writer
        writer._pictures = Full(
            it.service.current.pictures, number, os.strerror(number)
        )
        known = client.by_text("beach", k=1).ids[0]
        done = writer.work(
            [
                Put("one", ItemRequest(text="a beach")),
                Put("photo", ItemRequest(text="a beach"), picture_bytes()),
                Put("other", ItemRequest(text="a boat")),
                Removal(known),
            ]
        )
        assert [isinstance(each, Written) for each in done] == [True, False, True, True]
        assert [client.item(name).id for name in ("one", "other")] == ["one", "other"]
        with pytest.raises(ServiceError, match=reply) as caught:
            client.put("photo", image=picture_bytes())
        assert caught.value.status == status
        for name in ("photo", known):
            with pytest.raises(ServiceError, match="no item"):
                client.item(name)
    assert os.strerror(number) in caplog.text
    assert kept(own_index) == []


def test_searches_do_not_wait_for_a_disk_that_does_not_answer(own_index, monkeypatch):
    """A reply means that the change is on disk, however long that takes."""
    begun, may_end = threading.Event(), threading.Event()
    for name in ("fsync", "fdatasync"):
        plain = getattr(os, name)

        def slow(handle, plain=plain):
            begun.set()
            assert may_end.wait(60)
            return plain(handle)

        monkeypatch.setattr(os, name, slow)
    names = [f"new {number}" for number in range(5)]
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:

        def put(name):
            with it.client(WRITE) as own:
                return own.put(name, text="a boat", labels=["new"])

        try:
            with ThreadPoolExecutor(len(names)) as pool:
                puts = [pool.submit(put, name) for name in names]
                assert begun.wait(60)
                for _ in range(5):
                    assert client.by_text("a boat", k=3).ids
                assert client.index().items == ITEMS
                assert not any(each.done() for each in puts)
                may_end.set()
                assert all(each.result() for each in puts)
        finally:
            may_end.set()
        found = client.by_text("a boat", k=50, where=["label=new"])
        assert sorted(found.ids) == names


def test_an_index_without_room_says_so(own_index):
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:

        def full(*_, **__):
            reason = OSError(errno.ENOSPC, "No space left on device")
            raise IndexFolderError("full") from reason

        it.service.index.add = full
        with pytest.raises(ServiceError, match="is full") as caught:
            client.put("new", text="a beach")
        assert caught.value.status == 507
