"""Items encoded again: for a new model, for a repair, for a file."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from tests.vector_model import give_vectors

from fdch.codes import Codes
from fdch.data.pairs import PairedSet
from fdch.errors import DataError, IndexFolderError
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item
from fdch.methods.dch import DCH
from fdch.retrieval import rebuilding
from fdch.retrieval.index import Index
from fdch.retrieval.rebuilding import export_items, rebuild_index
from fdch.runs.run import open_run, save_run
from fdch.training.context import Context


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Pictures in files, words, labels, a column."""
    folder, draw = tmp_path_factory.mktemp("pictures"), np.random.default_rng(3)
    paths, texts, labels = [], [], []
    for row in range(40):
        label = ("red", "blue")[row % 2]
        pixels = draw.integers(0, 60, (32, 32, 3), dtype=np.uint8)
        pixels[..., 0 if label == "red" else 2] += 180
        paths.append(folder / f"{row}.png")
        Image.fromarray(pixels).save(paths[-1])
        texts.append(f"a {label} thing {('large', 'small')[row % 3 == 0]}")
        labels.append([label])
    return PairedSet.from_arrays(
        images=paths,
        texts=texts,
        labels=labels,
        ids=[f"item {row}" for row in range(40)],
        columns={"price": list(range(40))},
    )


@pytest.fixture(scope="module")
def runs(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        method = DCH(bits=16, seed=seed).fit(pairs)
        save_run(folder / str(seed), method)
    return [open_run(folder / "0"), open_run(folder / "1")]


@pytest.fixture(scope="module")
def made(pairs, runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "index"
    with Index.create(path, runs[0]) as index:
        index.add(pairs)
        uploaded = path / "pictures" / "uploaded.png"
        uploaded.parent.mkdir()
        shutil.copyfile(pairs.images.paths[0], uploaded)
        index.add(
            PairedSet.from_arrays(
                images=[uploaded], texts=["a red thing"], ids=["sent"], labels=[["red"]]
            )
        )
    return path


@pytest.fixture
def path(made, tmp_path):
    return shutil.copytree(made, tmp_path / "index")


def codes_of(path, names):
    with CodeFolder.open(path) as folder:
        return folder.fetch(names).codes.packed.tolist()


def test_a_rebuilt_index_is_that_of_the_new_run(path, pairs, runs, tmp_path):
    new, fresh = tmp_path / "new", tmp_path / "fresh"
    done = rebuild_index(path, runs[1], new)
    assert (done.items, done.encoded, done.skipped) == (41, 41, {})
    with Index.create(fresh, runs[1]) as index:
        index.add(pairs)
    names = [str(name) for name in pairs.ids]
    assert codes_of(new, names) == codes_of(fresh, names)
    assert codes_of(new, names) != codes_of(path, names)
    with CodeFolder.open(new) as folder, CodeFolder.open(path) as old:
        assert folder.items(names) == old.items(names)
        (sent,) = folder.items(["sent"])
        assert sent is not None
        assert sent.image == str(new / "pictures" / "uploaded.png")
    assert (new / "pictures" / "uploaded.png").is_file()
    assert verify_folder(new).is_clean


def test_an_interrupted_rebuild_goes_on(path, runs, tmp_path, monkeypatch):
    new = tmp_path / "new"
    monkeypatch.setattr(rebuilding, "ITEMS_AT_A_TIME", 10)
    calls = []

    def stop(update):
        calls.append(update)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild_index(path, runs[1], new, progress=stop)
    done = rebuild_index(path, runs[1], new)
    assert (done.items, done.encoded) == (41, 21)
    assert rebuild_index(path, runs[1], new).encoded == 0


def test_a_second_rebuild_takes_over_what_changed(path, pairs, runs, tmp_path):
    new = tmp_path / "new"
    rebuild_index(path, runs[1], new)
    with Index.open(path, writable=True) as index:
        index.remove(["item 5"])
        (item,) = index.items(["item 6"])
        assert item is not None
        index.update([replace(item, columns={"price": 999})])
    done = rebuild_index(path, runs[1], new)
    assert (done.items, done.encoded) == (40, 1)
    with CodeFolder.open(new) as folder:
        gone, changed = folder.items(["item 5", "item 6"])
    assert gone is None
    assert changed is not None
    assert changed.columns == {"price": 999}


def test_another_index_is_not_overwritten(path, runs, tmp_path):
    new = tmp_path / "new"
    rebuild_index(path, runs[1], new)
    with pytest.raises(IndexFolderError, match="not this index with this run"):
        rebuild_index(path, runs[0], new)


def test_what_cannot_be_encoded_is_named(path, runs, tmp_path):
    (path / "pictures" / "uploaded.png").write_bytes(b"no picture")
    with Index.open(path, writable=True) as index:
        index.store.add([Item("bare")], Codes(np.zeros((1, 2), np.uint8), 16))
    done = rebuild_index(path, runs[1], tmp_path / "new")
    assert set(done.skipped) == {"sent", "bare"}
    assert done.items == 40


def test_an_index_of_nothing_is_not_made(path, tmp_path):
    features = np.random.default_rng(0).normal(size=(20, 4))
    labels = [["a"], ["b"]] * 10
    ready = PairedSet.from_arrays(images=features, texts=features > 0, labels=labels)
    run = save_run(tmp_path / "ready", DCH(bits=8).fit(ready))
    with pytest.raises(DataError, match="none of the 41 items"):
        rebuild_index(path, run, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_damaged_codes_are_encoded_again_by_a_repair(path, pairs):
    names = [str(name) for name in pairs.ids]
    before = codes_of(path, names)
    rows = path / "codes" / "00000000.rows"
    content = bytearray(rows.read_bytes())
    content[70] ^= 4
    rows.write_bytes(content)
    done = Index.repair(path)
    assert not done.lost
    assert codes_of(path, names) == before
    assert verify_folder(path).is_clean


def test_exported_lines_hold_everything(path, tmp_path):
    out = tmp_path / "items.jsonl"
    assert export_items(path, out) == 41
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    first = next(line for line in lines if line["id"] == "item 0")
    assert first["text"] == "a red thing small"
    assert first["labels"] == ["red"]
    assert first["columns"] == {"price": 0}
    assert first["code"] == bytes(codes_of(path, ["item 0"])[0]).hex()
    sent = next(line for line in lines if line["id"] == "sent")
    assert (tmp_path / sent["image"]).is_file()
    with pytest.raises(DataError, match="already exists"):
        export_items(path, out)


def test_an_interrupted_export_leaves_nothing_behind(path, tmp_path):
    def interrupt(update):
        raise KeyboardInterrupt

    out = tmp_path / "exported" / "items.jsonl"
    out.parent.mkdir()
    with pytest.raises(KeyboardInterrupt):
        export_items(path, out, interrupt)
    assert not list(out.parent.glob("items.jsonl*"))


def test_vectors_are_encoded_again_for_a_run_and_for_a_repair(
    pairs, runs, tmp_path, monkeypatch
):
    path, new = tmp_path / "index", tmp_path / "new"
    with Index.create(path, runs[0]) as index:
        index.add(pairs)
    give_vectors(monkeypatch, DCH)
    assert rebuild_index(path, runs[1], new).items == 40
    names = [str(name) for name in pairs.ids]
    with CodeFolder.open(new) as folder:
        before = folder.fetch(names)
    method = runs[1].method
    features = method.inputs.images(pairs.images, Context())
    texts = method.inputs.texts(pairs.texts)
    outputs = [features, texts] if method.about.unified else [features]
    side = "pair" if method.about.unified else "image"
    ordering = method.ordering
    right = getattr(ordering, f"{side}_vectors")(*outputs)
    assert before.vectors is not None
    kept = before.vectors.astype(int)
    assert np.abs(right - kept).max() <= 1  # of another batch, rounded otherwise
    [file] = (new / "vectors").iterdir()
    content = bytearray(file.read_bytes())
    content[100] ^= 8
    file.write_bytes(content)
    done = Index.repair(new)
    assert not done.lost
    assert "encoded" in done.restored[0]
    with CodeFolder.open(new) as folder:
        after = folder.fetch(names)
    assert after.codes == before.codes
    assert np.abs(after.vectors - kept).max() <= 1
    assert verify_folder(new).is_clean
