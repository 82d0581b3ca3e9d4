"""Connections: how many there may be, and what becomes of those that are too many."""

import contextlib
import resource
import socket
from types import SimpleNamespace

import httpx
import pytest
from tests.service.running import running, wait_until

from fdch.service import protocol, serving
from fdch.service.limits import ServiceLimits
from fdch.service.pictures import ItemPictures
from fdch.service.problems import Problem
from fdch.service.serving import connections_that_fit


def files(monkeypatch, soft, hard):
    """Pretend that a process may open so many files; give what it asks for."""
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    return asked


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "fit"),
    [
        (1024, 4096, [(4096, 4096)], 1024),
        (1024, 1024, [], 768),
        (256, 256, [], 64),
        (256, resource.RLIM_INFINITY, [(65_536, resource.RLIM_INFINITY)], 1024),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, [], 1024),
    ],
)
def test_as_many_files_as_allowed_are_opened(monkeypatch, soft, hard, asked, fit):
    found = files(monkeypatch, soft, hard)
    assert connections_that_fit(1024) == fit
    assert found == asked


def test_a_limit_that_cannot_be_raised_is_kept_below(monkeypatch):
    files(monkeypatch, 1024, 4096)

    def refuse(*_):
        raise ValueError

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert connections_that_fit(1024) == 768


def test_a_system_without_limits_takes_all(monkeypatch):
    monkeypatch.setattr(serving, "resource", None)
    assert connections_that_fit(10**6) == 10**6


@contextlib.contextmanager
def idle(it, count):
    """Connect so often, and say nothing; give the connections once they are known."""
    with contextlib.ExitStack() as stack:
        before = len(it.server.server_state.connections)
        made = [
            stack.enter_context(socket.create_connection(("127.0.0.1", it.port)))
            for _ in range(count)
        ]
        yield before, made


def known(it):
    return len(it.server.server_state.connections)


def test_who_comes_when_all_places_are_taken_is_told_so(scenes):
    with running(scenes.index, limits=ServiceLimits(connections=3)) as it:
        with idle(it, 3):
            wait_until(lambda: known(it) == 3)
            refused = httpx.get(f"{it.url}/health")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "busy"
            assert refused.headers["retry-after"] == "5"
            assert refused.headers["connection"] == "close"
            assert refused.headers["x-content-type-options"] == "nosniff"
        wait_until(lambda: known(it) == 0)
        assert httpx.get(f"{it.url}/health").status_code == 200


def test_a_crowd_is_not_kept(scenes, monkeypatch):
    monkeypatch.setattr(protocol, "_TOLD", 2)
    with running(scenes.index, limits=ServiceLimits(connections=3)) as it:
        with idle(it, 5):
            wait_until(lambda: known(it) == 5)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{it.url}/health")
            assert known(it) == 5
        wait_until(lambda: known(it) == 0)
        assert httpx.get(f"{it.url}/health").status_code == 200


def test_a_process_without_files_left_does_not_say_that_pictures_are_gone(
    tmp_path, monkeypatch
):
    pictures = ItemPictures(tmp_path, 1000, 1000)
    item = SimpleNamespace(image=str(tmp_path / "a.png"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, limits[1]))
    try:
        with pytest.raises(Problem) as caught:
            pictures.picture(item)  # type: ignore[arg-type]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert caught.value.status == 503
