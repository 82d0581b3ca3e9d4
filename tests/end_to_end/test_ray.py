"""Encoding on a Ray cluster: codes and vectors of one process, each id once."""

import csv
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.ray_cluster import kill_one_worker, two_nodes
from tests.trained_scenes import training_task

from fdch.retrieval.index import Index
from fdch.runs.encoding import encode_pairs
from fdch.runs.pipeline import train_run

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="ray is not installed"
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    # a cache of their own, so that workers decode pictures
    with two_nodes(tmp_path_factory.mktemp("workers")) as environment:
        yield environment


def start(environment, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "fdch", *map(str, words), "--engine", "ray", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(environment, *words):
    process = start(environment, *words)
    output, errors = process.communicate(timeout=1200)
    return process.returncode, output, errors


def write_shard(path, scenes):
    """Write the pairs of a manifest as samples."""
    with (
        open(scenes.manifest, encoding="utf-8") as file,
        tarfile.open(path, "w") as tar,
    ):
        for row in csv.DictReader(file):
            picture = (scenes.folder / row["image"]).read_bytes()
            cells = {"labels": row["labels"].split(";"), "scene": row["scene"]}
            for ending, content in (
                ("png", picture),
                ("txt", row["text"].encode()),
                ("json", json.dumps(cells).encode()),
            ):
                header = tarfile.TarInfo(f"{row['id']}.{ending}")
                header.size = len(content)
                tar.addfile(header, io.BytesIO(content))
    return path


@pytest.fixture(scope="module")
def shard(scenes, tmp_path_factory):
    return write_shard(tmp_path_factory.mktemp("shard") / "scenes.tar", scenes)


def test_a_killed_worker_costs_no_id_and_changes_no_code(cluster, scenes, shard, place):
    words = ("index", "create", place, "--run", scenes.run.folder, shard)
    process = start(cluster, *words)
    assert kill_one_worker(cluster, process)
    output, errors = process.communicate(timeout=1200)
    assert process.returncode == 0, errors
    document = json.loads(output)
    assert document["added"]["new"] == document["items"] == len(scenes.pairs)
    assert document["added"]["skipped"] == []

    ids = scenes.pairs.ids.tolist()
    expected = encode_pairs(scenes.run.method, scenes.pairs).unified
    with Index.open(place) as index:
        assert index.store.fetch(ids).codes == expected
        [item] = index.items(ids[:1])
        assert item is not None
        assert item.text == scenes.pairs.texts.text(0)
        assert item.labels == scenes.pairs.labels_of(0)
        assert item.columns["scene"] == scenes.pairs.columns["scene"][0]


@pytest.fixture(scope="module")
def with_vectors(scenes, tmp_path_factory):
    """A run of FDCH+ on the same pairs."""
    task = training_task(scenes.folder, label_epochs="5", pair_epochs="5")
    out = tmp_path_factory.mktemp("plus") / "run"
    return train_run(replace(task, method="fdch_plus", out=out))


def test_vectors_are_those_of_one_process(cluster, scenes, with_vectors, tmp_path):
    out = tmp_path / "codes.npz"
    words = ("encode", with_vectors.folder, scenes.manifest, "--out", out)
    code, _, errors = run(cluster, *words)
    assert code == 0, errors
    expected = encode_pairs(with_vectors.method, scenes.pairs)
    assert expected.unified is not None
    assert expected.item_vectors is not None
    with np.load(out, allow_pickle=False) as file:
        assert file["ids"].tolist() == scenes.pairs.ids.tolist()
        assert np.array_equal(file["unified"], expected.unified.packed)
        assert np.array_equal(file["vectors"].view(np.int8), expected.item_vectors)


def test_a_manifest_gives_every_id_once(cluster, scenes, with_vectors, tmp_path):
    made = tmp_path / "index"
    words = ("index", "create", made, "--run", with_vectors.folder, scenes.manifest)
    code, output, errors = run(cluster, *words)
    assert code == 0, errors
    document = json.loads(output)
    assert document["added"]["new"] == document["items"] == len(scenes.pairs)
    assert document["added"]["replaced"] == 0
    ids = scenes.pairs.ids.tolist()
    with Index.open(made) as index:
        assert None not in index.items(ids)
        expected = encode_pairs(with_vectors.method, scenes.pairs).unified
        assert index.store.fetch(ids).codes == expected


def write_parquet(path, scenes):
    """Write the pairs of a manifest as a table that has the pictures in it."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with open(scenes.manifest, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = {name: [row[name] for row in rows] for name in ("id", "text")}
    table["image"] = [
        {"bytes": (scenes.folder / row["image"]).read_bytes(), "path": row["image"]}
        for row in rows
    ]
    table["labels"] = [row["labels"].split(";") for row in rows]
    parquet.write_table(pyarrow.table(table), path, row_group_size=50)
    return path


def test_pictures_in_parquet_reach_the_workers(cluster, scenes, place, tmp_path):
    table = write_parquet(tmp_path / "scenes.parquet", scenes)
    words = ("index", "create", place, "--run", scenes.run.folder, table)
    code, output, errors = run(cluster, *words)
    assert code == 0, errors
    document = json.loads(output)
    assert document["added"]["new"] == document["items"] == len(scenes.pairs)
    ids = scenes.pairs.ids.tolist()
    expected = encode_pairs(scenes.run.method, scenes.pairs).unified
    with Index.open(place) as index:
        assert index.store.fetch(ids).codes == expected


def test_the_same_command_after_a_kill_adds_no_item_twice(
    cluster, scenes, shard, tmp_path
):
    made = tmp_path / "index"
    with Index.create(made, scenes.run):
        pass
    process = start(cluster, "index", "add", made, shard)
    while count(made) == 0 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    kept = count(made)
    assert kept > 0

    code, output, errors = run(cluster, "index", "add", made, shard)
    assert code == 0, errors
    document = json.loads(output)
    assert document["items"] == len(scenes.pairs)
    assert document["added"]["replaced"] == kept
    assert document["added"]["new"] == len(scenes.pairs) - kept


def count(name):
    with Index.open(name) as index:
        return len(index)


def test_a_broken_picture_is_named_or_skipped(cluster, scenes, tmp_path):
    photos = tmp_path / "photos"
    shutil.copytree(scenes.pictures, photos)
    broken = sorted(photos.iterdir())[140]
    broken.write_bytes(broken.read_bytes()[:200])
    out = tmp_path / "codes.npz"
    words = ("encode", scenes.run.folder, photos, "--out", out)

    code, output, errors = run(cluster, *words)
    assert (code, output) == (1, "")
    message = next(line for line in errors.splitlines() if line.startswith("error: "))
    assert f"picture '{broken}'" in message
    assert f"It belongs to '{broken.name}'" in message
    assert not out.exists()

    code, output, errors = run(cluster, *words, "--broken", "skip")
    assert code == 0, errors
    document = json.loads(output)
    assert [row["row"] for row in document["skipped"]] == [broken.name]
    assert document["pairs"] == len(scenes.pairs) - 1
    codes = encode_pairs(scenes.run.method, scenes.pairs).image
    expected = {
        f"{name}.png": packed.tolist()
        for name, packed in zip(scenes.pairs.ids, codes.packed, strict=True)
        if f"{name}.png" != broken.name
    }
    with np.load(out, allow_pickle=False) as file:
        found = zip(file["ids"].tolist(), file["image"].tolist(), strict=True)
        assert dict(found) == expected
