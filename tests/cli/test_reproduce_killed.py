"""`fdch reproduce`, killed in the middle and begun again."""

import json
import re
import subprocess
import sys
import time

import pytest

TINY = (
    "stage_one_epochs=3 stage_two_epochs=3 text_hidden=16 fusion_width=16 "
    "fusion_hidden=16 batch_size=16"
)
SMALL = [part for text in TINY.split() for part in ("--set", f"fdch*.{text}")]
CELLS = 4 * 2 * 2
TIMES = re.compile(r"<h2>Time and memory</h2>.*?</section>", re.DOTALL)


def command(data, out, workers):
    start = [sys.executable, "-m", "fdch", "reproduce", "all", "--json", *SMALL]
    place = ["--data", data, "--out", out, "--workers", workers]
    cells = ["--methods", "cmfh,scm_seq,fdch,fdch_i", "--bits", "8,16", "--seeds", 2]
    return [str(word) for word in (*start, *place, *cells)]


def finished(out):
    """The names of cells that are done, with their files as they are on disk."""
    records = {path.parent: path.read_text() for path in out.glob("cells/*/cell.json")}
    return {
        folder.name: {
            path.name: (path.stat().st_mtime_ns, path.read_bytes())
            for path in (folder / "cell.json", folder / "scores.json")
        }
        for folder, text in records.items()
        if json.loads(text)["state"] == "done"
    }


def kill_after(cells, words, out):
    """Start the command and kill -9 it once so many cells are done."""
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        while len(finished(out)) < cells:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
    finally:
        process.kill()
        # the pipe ends with the last process that holds it, workers included
        process.communicate()


def complete(words):
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def results(out):
    """Everything written but times: tables, figures and the page."""
    written = {
        path.name: path.read_bytes()
        for path in out.iterdir()
        if path.is_file() and not path.name.startswith(("report", "cost"))
    }
    page = (out / "report.html").read_text()
    assert len(TIMES.findall(page)) == 1
    return written, TIMES.sub("", page)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_it_repeats_no_finished_cell_and_ends_with_the_same_report(
    features, tmp_path, workers
):
    data = features(tmp_path / "features.npz")
    out, whole = tmp_path / "out", tmp_path / "whole"
    words = command(data, out, workers)
    for cells in (2, 7):
        kill_after(cells, words, out)
    kept = finished(out)
    assert 7 <= len(kept) < CELLS
    assert not (out / "report.html").exists()
    found = complete(words)
    assert set(found["ran"]) == set(found["cells"]) - set(kept)
    assert {name: finished(out)[name] for name in kept} == kept
    complete(command(data, whole, workers))
    assert results(out) == results(whole)
    assert not list(out.glob("cells/*/run"))
