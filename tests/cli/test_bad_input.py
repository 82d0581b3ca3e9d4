"""Bad input: one clear message, exit code 1, nothing left behind or lost."""

import io
import json
import re
import shutil
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image


def png_of(width, height):
    """A PNG whose header alone has its size."""

    def chunk(name, content):
        whole = name + content
        return (
            struct.pack(">I", len(content))
            + whole
            + struct.pack(">I", zlib.crc32(whole))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body


def truncated_jpeg():
    whole = io.BytesIO()
    Image.effect_noise((256, 256), 60).convert("RGB").save(whole, "JPEG")
    return whole.getvalue()[:-3000]


@pytest.fixture
def world(tmp_path, photo_rows, on_scenes, features, manifest):
    """What the cases below are made from."""

    def csv(rows, **more):
        return manifest(tmp_path / "pairs.csv", rows, **more)

    def with_picture(name, content):
        (tmp_path / name).write_bytes(content)
        broken = {**photo_rows[0], "id": "odd", "image": str(tmp_path / name)}
        return csv([*photo_rows, broken])

    return SimpleNamespace(
        folder=tmp_path,
        out=tmp_path / "out",
        rows=photo_rows,
        run=on_scenes.run,
        csv=csv,
        with_picture=with_picture,
        features=lambda **more: features(tmp_path / "features.npz", **more),
    )


def train(data, *options):
    return lambda world, tiny: (
        *("train", data(world), "--out", world.out, *tiny, *options),
    )


def empty_folder(world):
    (world.folder / "photos").mkdir()
    return world.folder / "photos"


def written(name, content):
    def data(world):
        (world.folder / name).write_text(content)
        return world.folder / name

    return data


def not_numbers(world):
    image = np.ones((120, 12))
    image[7, 3] = np.nan
    return world.features(image=image)


def damaged(change):
    def words(world, tiny):
        shutil.copytree(world.run, world.folder / "run")
        change(world.folder / "run")
        return ("evaluate", world.folder / "run", "--report", world.folder / "a.html")

    return words


def flip_a_byte(run):
    content = bytearray((run / "state.safetensors").read_bytes())
    content[-100] ^= 1
    (run / "state.safetensors").write_bytes(content)


def describe(run, **changes):
    facts = json.loads((run / "run.json").read_text("utf-8"))
    (run / "run.json").write_text(json.dumps(facts | changes), "utf-8")


CASES = {
    "missing file": (
        train(lambda world: world.folder / "no.csv"),
        "there is no file '.*no.csv'",
    ),
    "file of an unknown kind": (
        train(written("pairs.doc", "")),
        "has the ending '.doc', which is not known. Data is named as pairs.csv",
    ),
    "MATLAB file without its reader": (
        train(written("pairs.mat", "")),
        "is a MATLAB file; .*write dcmh-mat:.*pairs.mat",
    ),
    "manifest without rows": (
        train(written("pairs.csv", "id,image,text,labels\n")),
        "it has a header but no rows. Write a line for each pair",
    ),
    "lines that are no JSON": (
        train(written("pairs.jsonl", '{"id": \n')),
        "no line to use; line 1: not JSON .*Write a JSON object on each line",
    ),
    "features that are no archive": (
        train(written("features.npz", "x")),
        "is not a valid .npz file: .*Write it with numpy.savez",
    ),
    "split that is none": (
        train(lambda world: "scenes:60", "--split", __file__),
        "is not a split: .*Give the split.json of a run",
    ),
    "folder without pictures": (train(empty_folder), "is a folder without pictures"),
    "manifest without a needed column": (
        train(lambda world: world.csv(world.rows, columns=("id", "image", "labels"))),
        "has a value for 'text'; training needs",
    ),
    "manifest without any known column": (
        train(lambda world: world.csv([{"a": 1}], columns=("a",))),
        "'.*pairs.csv'.*column",
    ),
    "labels all empty": (
        train(lambda world: world.csv([{**row, "labels": ""} for row in world.rows])),
        "has a value for 'labels'; training needs",
    ),
    "one class only": (
        train(lambda world: world.csv([{**row, "labels": "a"} for row in world.rows])),
        "the only label is 'a'.*Without any, fdch_plus learns from the pairs alone",
    ),
    "one training pair": (
        train(lambda world: world.features(pairs=3)),
        "too few pairs to train on: 1, where the method needs at least 2",
    ),
    "duplicate ids": (
        train(lambda world: world.csv([*world.rows, world.rows[3]])),
        "ids must be unique; 'scene3' in line 5 and line 62",
    ),
    "NaN features": (train(not_numbers), "not finite 32-bit numbers.* row 7"),
    "text with no known word": (
        lambda world, tiny: (
            *("encode", world.run, "--out", world.folder / "codes.npz"),
            world.csv([{**world.rows[0], "text": "qwertz"}]),
        ),
        "the text of 'scene0' has no word that the run knows: 'qwertz'",
    ),
    "truncated JPEG": (
        train(lambda world: world.with_picture("odd.jpg", truncated_jpeg())),
        r"odd.jpg': cannot be decoded .*It belongs to 'odd'",
    ),
    "picture of 30,000 x 30,000 pixels": (
        train(lambda world: world.with_picture("odd.png", png_of(30_000, 30_000))),
        r"odd.png': .*the limit is 50,000,000",
    ),
    "no bits": (
        train(lambda world: "scenes:60", "--bits", 0),
        "bits must be positive; got 0",
    ),
    "negative bits": (
        train(lambda world: "scenes:60", "--bits", -8),
        "bits must be positive; got -8",
    ),
    "unknown settings": (
        train(lambda world: "scenes:60", "--set", "learning_rte=1", "--set", "bit=1"),
        "unknown setting 'learning_rte'; did you mean 'learning_rate'.*'bit'; did you",
    ),
    "setting of the wrong kind": (
        train(lambda world: "scenes:60", "--set", "batch_size=many"),
        "setting batch_size=many: expected a whole number",
    ),
    "setting out of its range": (
        train(lambda world: "scenes:60", "--set", "learning_rate=-1"),
        "must be positive: learning_rate=-1.0",
    ),
    "setting without a value": (
        train(lambda world: "scenes:60", "--set", "batch_size"),
        "settings are written key=value; got 'batch_size'",
    ),
    "unknown method": (
        train(lambda world: "scenes:60", "--method", "fdhc"),
        "unknown method 'fdhc'; did you mean 'fdch'",
    ),
    "unknown image network": (
        train(lambda world: "scenes:60", "--image-network", "efficientnet"),
        "unknown image network 'efficientnet'; did you mean 'efficientnet_lite",
    ),
    "unknown device": (
        train(lambda world: "scenes:60", "--device", "gpu"),
        "device 'gpu' cannot be used here: unknown device; known are auto, cpu",
    ),
    "no run": (
        lambda world, tiny: ("evaluate", world.folder / "no-run"),
        "no trained method in '.*no-run'",
    ),
    "file in place of a run": (
        lambda world, tiny: ("evaluate", __file__),
        "no trained method in '.*', which is a file. Train one",
    ),
    "run in place of an index": (
        lambda world, tiny: ("index", "info", world.run),
        "is a run, not an index. Create an index with .*--run .*run'",
    ),
    "damaged file of a run": (
        damaged(flip_a_byte),
        "state.safetensors' is not the file that was written",
    ),
    "missing file of a run": (
        damaged(lambda run: (run / "split.json").unlink()),
        "split.json' is missing",
    ),
    "damaged description of a run": (
        damaged(lambda run: (run / "run.json").write_text("{")),
        "run.json' is not a run's description",
    ),
    "run from a newer version": (
        damaged(lambda run: describe(run, format=99, versions={"fdch": "9.1"})),
        r"format 99 \(written by fdch 9.1\).*Upgrade fdch",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_with_a_message(case, world, fdch, tiny):
    words, message = CASES[case]
    arguments = words(world, tiny)
    before = sorted(world.folder.rglob("*"))
    result = fdch(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    said = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert re.search(message, said[0]), said
    assert sorted(world.folder.rglob("*")) == before
