"""Pictures of an index that moved."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from fdch.cli import cli
from fdch.data.pairs import PairedSet
from fdch.errors import MissingFile
from fdch.index.storage.files.layout import PICTURES
from fdch.index.store import Item
from fdch.methods.dch import DCH
from fdch.retrieval.index import Index
from fdch.retrieval.picture_paths import (
    PicturePaths,
    count_pictures,
    remap_pictures,
)


@pytest.fixture
def index(tmp_path):
    """An index whose four items have a picture, or did: one was uploaded."""
    rng = np.random.default_rng(0)
    pairs = PairedSet.from_arrays(
        images=rng.standard_normal((20, 4)),
        texts=["a dog", "a cat"] * 10,
        labels=["dog", "cat"] * 10,
    )
    method = DCH(bits=8, text_features="words").fit(pairs)
    name, old = tmp_path / "index", tmp_path / "old" / "shop"
    old.mkdir(parents=True)
    for picture in ("a.png", "b.png"):
        Image.new("RGB", (4, 4)).save(old / picture)
    with Index.create(name, method) as made:
        made.add(pairs)
        uploaded = name / PICTURES / "up.png"
        uploaded.parent.mkdir()
        uploaded.write_bytes((old / "a.png").read_bytes())
        paths = [old / "a.png", old / "b.png", "/gone/c.png", uploaded]
        items = [Item(str(n), "text", str(path)) for n, path in enumerate(paths)]
        made.update(items)
    return name


def test_moved_pictures_get_their_new_paths_and_codes_stay(index, tmp_path):
    assert count_pictures(index) == PicturePaths(found=3, missing=1)
    with Index.open(index) as opened:
        before = opened.store.fetch(["0", "1", "2", "3"]).codes.packed.tolist()
    new = tmp_path / "new"
    (tmp_path / "old").rename(new)
    assert count_pictures(index) == PicturePaths(found=1, missing=3)
    assert remap_pictures(index, new) == PicturePaths(found=1, moved=2, missing=1)
    with Index.open(index) as opened:
        items = opened.items(["0", "1", "2"])
        images = [item.image for item in items if item is not None]
        after = opened.store.fetch(["0", "1", "2", "3"]).codes.packed.tolist()
    paths = [str(new / "shop" / name) for name in ("a.png", "b.png")]
    assert images == [*paths, "/gone/c.png"]
    assert after == before
    with pytest.raises(MissingFile, match=r"no folder .*old"):
        remap_pictures(index, tmp_path / "old")


def test_commands_say_what_is_found(index, tmp_path):
    (tmp_path / "old").rename(tmp_path / "new")

    def run(*words):
        result = CliRunner().invoke(cli, ["index", *map(str, words), "--json"])
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)["pictures"]

    assert run("info", index, "--pictures") == {"found": 1, "missing": 3}
    found = run("remap", index, "--pictures", tmp_path / "new" / "shop")
    assert found == {"found": 1, "moved": 2, "missing": 1}
