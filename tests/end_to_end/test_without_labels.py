"""No label at all: FDCH+ trains on the pairs alone, and each half finds the other."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from fdch import Index, PairedSet, Searcher
from fdch.cli import cli
from fdch.methods.fdch_plus import FDCHPlus

TRAINED, K, BITS, SCALE = 240, 10, 32, 0.2
HALVES = {"image": 1, "text": 2}  # with their columns


def run(*words):
    """Run a command and return the document it writes."""
    command = [*map(str, words), "--json"]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def rows(scenes):
    images, texts = map(str, scenes.pairs.images.paths), scenes.pairs.texts.values
    return [*zip(scenes.pairs.ids, images, texts, strict=True)]


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """Pairs to train on, and either half of the others; all without labels."""
    folder = tmp_path_factory.mktemp("unlabelled")

    def write(name, rows):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([("id", "image", "text", "labels"), *rows])

    unseen = rows[TRAINED:]
    write("pairs.csv", [(*row, "") for row in rows[:TRAINED]])
    write("image.csv", [(name, image, "", "") for name, image, _ in unseen])
    write("text.csv", [(name, "", text, "") for name, _, text in unseen])
    return folder


@pytest.fixture(scope="module", params=["python", "command"])
def indexes(request, folder, shared_cache):
    """An index of either half, made in Python or by commands."""
    made = {half: folder / f"{half}.{request.param}" for half in HALVES}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        if request.param == "python":
            method = FDCHPlus(bits=BITS, epoch_scale=SCALE)
            method.fit(PairedSet.read(folder / "pairs.csv"))
        else:
            document = run(
                *("train", folder / "pairs.csv", "--bits", BITS, "--use-all"),
                *("--set", f"epoch_scale={SCALE}", "--out", folder / "run"),
            )
            assert document["method"] == "fdch_plus"
        for half, path in made.items():
            data = folder / f"{half}.csv"
            if request.param == "python":
                with Index.create(path, method) as index:
                    index.add(PairedSet.read(data))
            else:
                run("index", "create", path, "--run", folder / "run", data)
    return made


@pytest.mark.parametrize(("half", "other"), [("image", "text"), ("text", "image")])
def test_each_half_finds_the_other(indexes, rows, half, other):
    unseen = rows[TRAINED:]
    with Searcher(indexes[other]) as searcher:
        search = getattr(searcher, f"by_{half}")
        found = [search(row[HALVES[half]], k=K) for row in unseen]
    own = [row[0] in each.ids for row, each in zip(unseen, found, strict=True)]
    assert K / len(unseen) < 0.2  # by chance
    assert np.mean(own) > 0.5
    assert all(result.probability is None for each in found for result in each)
    for row, each in list(zip(unseen, found, strict=True))[:2]:
        words = (f"--{half}", row[HALVES[half]], "-k", K)
        document = run("search", indexes[other], *words)
        assert [result["id"] for result in document["results"]] == each.ids
