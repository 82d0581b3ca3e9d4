"""A service that is killed during a change leaves no picture that is nobody's."""

import json
from pathlib import Path

import pytest
from tests.service.processes import Process
from tests.service.running import READ, TOKENS, WRITE, picture_bytes, running
from tests.service.test_stopping import dying

from fdch.errors import ServiceError
from fdch.index.storage.files.layout import PICTURES
from fdch.service.index.writing import FILE, Unfinished

BLUE, GREEN = picture_bytes("blue"), picture_bytes("green")


@pytest.fixture
def index(own_index):
    """An index with two uploaded pictures."""
    with running(own_index, tokens=TOKENS) as it, it.client(WRITE) as client:
        client.put("kept", image=BLUE)
        client.put("changed", image=BLUE)
    return own_index


def files(index):
    return {path.name for path in (Path(index) / PICTURES).iterdir()}


def killed(index, tmp_path, at, change):
    """Give the files that a service leaves that is killed at a step of a change."""
    token_file = tmp_path / "tokens"
    token_file.write_text(f"read {READ}\nwrite {WRITE}\n")
    token_file.chmod(0o600)
    with (
        Process(index, "--token-file", token_file, program=dying(at)) as served,
        served.client(WRITE) as client,
    ):
        with pytest.raises(ServiceError, match="no answer"):
            change(client)
        served.process.wait(120)
    return files(index)


BEFORE_COMMIT, AFTER_COMMIT = "Index.add = die", "ItemPictures.drop = die"
HALF_WRITTEN = "ItemPictures.keep = half"


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("at", "change", "expected"),
    [
        slow(BEFORE_COMMIT, lambda c: c.put("new", image=GREEN), {"changed": BLUE}),
        (AFTER_COMMIT, lambda c: c.put("changed", image=GREEN), {"changed": GREEN}),
        slow(BEFORE_COMMIT, lambda c: c.put("changed", image=GREEN), {"changed": BLUE}),
        slow(HALF_WRITTEN, lambda c: c.put("new", image=GREEN), {"changed": BLUE}),
        slow(AFTER_COMMIT, lambda c: c.remove("changed"), {}),
    ],
    ids=["new", "replaced and on record", "replaced", "half", "removed"],
)
def test_what_a_killed_service_leaves_is_deleted(index, tmp_path, at, change, expected):
    before = files(index)
    left = killed(index, tmp_path, at, change)
    assert FILE in left
    stranger = Path(index) / PICTURES / "notes.txt"
    stranger.write_text("not ours")
    expected = {"kept": BLUE, **expected}
    with running(index, tokens=TOKENS) as it, it.client(READ) as client:
        now = files(index) - {stranger.name}
        assert {name: client.picture(name) for name in expected} == expected
        for name in {"new", "changed"} - set(expected):
            with pytest.raises(ServiceError, match="no item"):
                client.item(name)
    assert len(now) == len(expected)
    assert left - {FILE} != now  # there was something to delete
    assert now == before or at == AFTER_COMMIT


@pytest.mark.slow
def test_a_service_that_only_reads_deletes_nothing(index, tmp_path):
    change = lambda client: client.put("new", image=GREEN)  # noqa: E731
    left = killed(index, tmp_path, BEFORE_COMMIT, change)
    with running(index):
        assert files(index) == left


def test_the_record_of_others_leads_nowhere_else(index, tmp_path):
    """Names that are not those of uploaded pictures are left alone."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    record = Path(index) / PICTURES / FILE
    record.write_text(json.dumps({f"../../{victim.name}": "x", str(victim): "x"}))
    with running(index, tokens=TOKENS):
        assert not record.exists()
    assert victim.exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_a_record_that_cannot_be_read_stops_nothing(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    assert Unfinished(tmp_path).owners() == {}


def test_pictures_of_a_moved_index_go_with_their_items(index, tmp_path):
    moved = index.rename(tmp_path / "elsewhere")
    with running(moved, tokens=TOKENS) as it, it.client(WRITE) as client:
        client.put("changed", image=GREEN)
        assert client.picture("changed") == GREEN
        assert client.remove("kept")
    assert len(files(moved)) == 1


def test_in_a_folder_that_others_may_use_no_record_is_kept(own_index, tmp_path):
    place = tmp_path / "pictures"
    place.mkdir()
    (place / FILE).write_text(json.dumps({"0" * 32 + ".png": "x"}))
    (place / ("0" * 32 + ".png")).write_bytes(BLUE)
    with (
        running(own_index, tokens=TOKENS, pictures=place) as it,
        it.client(WRITE) as client,
    ):
        client.put("photo", image=GREEN)
        client.put("photo", image=BLUE)
    assert len(list(place.iterdir())) == 3
