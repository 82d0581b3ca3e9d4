"""A small trained index of pictures in files, and services of it on free ports.

What takes long is made once in a session; each test that writes has its own copy.
"""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.service.running import TOKENS, WRITE, running

from fdch import Index

ITEMS = 240


@pytest.fixture(autouse=True)
def own_cache(shared_cache, monkeypatch):
    """Let these tests share one cache: features take seconds."""
    monkeypatch.setenv("FDCH_CACHE", str(shared_cache))


@pytest.fixture(autouse=True)
def quick_start(request, monkeypatch):
    """Start services without a garbage collection: pytest's heap is large."""
    if "collects_garbage" not in request.fixturenames:
        quick = SimpleNamespace(collect=int, freeze=int, unfreeze=int)
        for name in ("service", "index.current"):
            monkeypatch.setattr(f"fdch.service.{name}.gc", quick)


@pytest.fixture
def collects_garbage():
    """Let the services of a test collect garbage as they do in production."""


@pytest.fixture(scope="session")
def scenes(scenes, shared_cache, tmp_path_factory):
    """Some pairs, their run and an `index` of them: a folder, not to be changed."""
    folder = tmp_path_factory.mktemp("scenes") / "index"
    pairs = scenes.pairs[:ITEMS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        with Index.create(folder, scenes.run) as index:
            index.add(pairs)
    return SimpleNamespace(**(vars(scenes) | {"pairs": pairs}), index=folder)


@pytest.fixture(scope="session")
def served(scenes, shared_cache):
    """A service of the index, without tokens: for reading alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        with running(scenes.index) as it:
            yield it


@pytest.fixture(scope="session")
def client(served):
    with served.client() as opened:
        yield opened


@pytest.fixture
def own_index(scenes, tmp_path):
    """A copy of the index that a test may change."""
    return Path(shutil.copytree(scenes.index, tmp_path / "index"))


@pytest.fixture
def writable(own_index):
    """A service with tokens for reading and writing, of a copy of the index."""
    with running(own_index, tokens=TOKENS) as it:
        yield it


@pytest.fixture
def writer(writable):
    with writable.client(WRITE) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser():
    """A real browser; not for the session, since its loop keeps others from running."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    from playwright.sync_api import sync_playwright
    from tests.service.browsing import launch

    with sync_playwright() as playwright:
        opened = launch(playwright)
        if opened is None:
            pytest.skip("there is no Chromium on this machine")
        yield opened
        opened.close()


@pytest.fixture
def come(browser, served):
    """Come to the page as someone new; at the end nothing has gone wrong."""
    from tests.service.browsing import visit

    visits = []

    def coming(address="/", url=served.url, **options):
        visits.append(visit(browser, url, **options).open(address))
        return visits[-1]

    yield coming
    for each in visits:
        each.page.context.close()
    assert [trouble for each in visits for trouble in each.troubles] == []
