"""The demo: everything at once, and only in its own folder."""

import json
import socket
from pathlib import Path

import pytest
from PIL import Image

from fdch import methods
from fdch.cli import serve
from fdch.cli.demo import MARKER
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.errors import RunError
from fdch.retrieval.index import Index
from fdch.retrieval.searcher import Searcher
from fdch.runs.run import open_run


@pytest.fixture(scope="module")
def shown(fdch, tiny, shared_cache, tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        words = ("demo", "--data", "scenes:60", "--bits", 16, "--out", out)
        short = ("--set", "label_epochs=1", "--set", "pair_epochs=1")
        result = fdch(*words, *tiny, "--method", methods.DEFAULT, *short)
    assert result.exit_code == 0, result.stderr
    return result, out


def test_it_leaves_a_run_its_scores_an_index_and_a_page(shown):
    _, out = shown
    assert sorted(path.name for path in out.iterdir()) == [
        *("index", MARKER, "pictures", "report.html", "run")
    ]
    assert open_run(out / "run").method.bits == 16
    assert (out / "run" / "scores.json").exists()
    with Index.open(out / "index") as index:
        assert len(index) == 54
        assert index.fingerprint == open_run(out / "run").fingerprint
    assert (out / "report.html").read_text("utf-8").startswith("<!doctype html>")


def test_it_prints_searches_scores_beside_chance_and_what_is_next(shown):
    result, out = shown
    assert "; chance 0." in result.stdout
    assert f"report   {out}/report.html (open it in a browser)" in result.stdout
    assert result.stdout.count(f"search of {out}/index: '") == 2
    assert f"fdch search {out}/index --text" in result.stdout


def test_a_second_demo_replaces_the_first_alone(shown, fdch, tiny):
    _, out = shown
    (out / "notes.txt").write_text("mine")
    before = (out / "run" / "run.json").read_text()
    result = fdch(
        *("demo", "--data", "scenes:60", "--bits", 8, "--out", out, "--json", *tiny)
    )
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["bits"] == 8
    assert document["report"] == str(out / "report.html")
    assert [len(search["results"]) for search in document["searches"]] == [4, 4]
    assert (out / "run" / "run.json").read_text() != before
    assert (out / "notes.txt").read_text() == "mine"


def test_a_demo_that_fails_leaves_the_earlier_one_whole(shown, fdch):
    _, out = shown
    before = (out / "report.html").read_bytes()
    result = fdch("demo", "--data", "nothing.csv", "--out", out)
    assert result.exit_code == 1
    assert fdch("demo", "--bits", 0, "--out", out).exit_code == 1
    assert (out / "report.html").read_bytes() == before
    open_run(out / "run")


def test_codes_too_long_for_an_index_are_refused_before_learning(fdch, tmp_path):
    out = tmp_path / "demo"
    result = fdch("demo", "--data", "scenes:60", "--bits", 513, "--out", out)
    assert result.exit_code == 1
    assert "codes of 1 to 512 bits can be indexed; got 513." in result.stderr
    assert not out.exists()


def test_an_interrupted_demo_can_begin_again(fdch, tiny, tmp_path, monkeypatch):
    def interrupt(self, update):
        if update.task == "stage 2":
            raise KeyboardInterrupt

    words = ("demo", "--data", "scenes:60", "--out", tmp_path / "demo", *tiny)
    with monkeypatch.context() as patch:
        patch.setattr(ProgressPrinter, "__call__", interrupt)
        result = fdch(*words)
    assert result.exit_code == 130
    assert "begin again with the same command" in result.stderr
    assert fdch(*words).exit_code == 0
    assert not (tmp_path / "demo" / "run.unfinished").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RunError("too bad")])
def test_a_demo_that_has_not_learned_leaves_nothing(
    fdch, on_features, tmp_path, monkeypatch, error
):
    def stop(task, announce, **_):
        announce(None, None)
        raise error

    out = tmp_path / "demo"
    monkeypatch.setattr("fdch.cli.demo.note_parts", lambda *_: None)
    monkeypatch.setattr("fdch.runs.pipeline.train_run", stop)
    result = fdch("demo", "--data", on_features.data, "--out", out)
    assert result.exit_code == (130 if error is KeyboardInterrupt else 1)
    assert list(tmp_path.rglob("*")) == []


def test_a_demo_interrupted_at_its_page_says_how_to_go_on(
    fdch, on_features, tiny, tmp_path, monkeypatch
):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fdch.report.evaluation_page.write_report", stop)
    result = fdch("demo", "--data", on_features.data, "--out", tmp_path / "d", *tiny)
    assert result.exit_code == 130
    assert "begin again with the same command" in result.stderr


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_no_demo_has_made_is_left_alone(fdch, tmp_path, kind):
    out = tmp_path / "demo"
    if kind == "folder":
        (out / "run").mkdir(parents=True)
    else:
        out.write_text("mine")
    result = fdch("demo", "--data", "scenes:60", "--out", out)
    assert result.exit_code == 1
    assert "was not created by a demo" in result.stderr
    assert out.exists()


def test_ready_features_do_for_a_demo_too(fdch, on_features, tiny, tmp_path):
    result = fdch("demo", "--data", on_features.data, "--out", tmp_path / "d", *tiny)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("search of ") == 2


def test_items_of_the_index_have_pictures_to_show(shown):
    _, out = shown
    with Index.open(out / "index") as index:
        for found in Searcher(index).by_text("red", k=3):
            path = Path(str(found.image))
            assert path.parent == (out / "pictures").absolute()
            with Image.open(path) as picture:
                assert picture.size[0] > 16


def test_serving_takes_the_demos_index(fdch, tiny, tmp_path, monkeypatch):
    served = []
    monkeypatch.setattr(
        serve.command, "callback", lambda **options: served.append(options)
    )
    out = tmp_path / "demo"
    words = ("demo", "--data", "scenes:60", "--out", out, "--serve", "--port", 0)
    result = fdch(*words, *tiny)
    assert result.exit_code == 0, result.stderr
    assert [each["indexes"] for each in served] == [(str(out / "index"),)]
    assert fdch(*words, "--json").exit_code == 2


def test_a_port_that_is_taken_is_refused_before_any_work(fdch, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = fdch("demo", "--out", tmp_path / "demo", "--serve", "--port", port)
    assert result.exit_code == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in result.stderr
    assert not (tmp_path / "demo").exists()
