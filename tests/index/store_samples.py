"""Codes and items that the tests of index folders share."""

import hashlib
import shutil
from contextlib import contextmanager

import numpy as np
import pytest

from fdch.codes import Codes
from fdch.index.search import buckets, groups
from fdch.index.store import Item


def random_codes(count, bits=32, seed=0):
    rng = np.random.default_rng(seed)
    return Codes(np.packbits(rng.random((count, bits)) < 0.5, axis=1), bits)


def random_vectors(count, width, seed=0):
    """Give vectors for items, or None for an index without any."""
    rng = np.random.default_rng(seed)
    return rng.integers(-128, 128, (count, width), dtype=np.int8) if width else None


def copying(run):
    """Give what writes the files of a folder as those of a model named "model"."""

    def write(folder):
        shutil.copytree(run, folder)
        return "model"

    return write


def upload_picture(index, id, content):
    """Put a picture into an index as `fdch serve` does; give its path."""
    digest = hashlib.blake2b(id.encode() + b"\0" + content, digest_size=16)
    path = index / "pictures" / f"{digest.hexdigest()}.jpg"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return str(path)


@contextmanager
def tables_for_few_rows():
    """Let compaction make a grouping and buckets even where they do not pay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "MIN_ROWS", 1)
        patch.setattr(buckets, "MIN_WIDTH", 2)
        patch.setattr(groups, "MIN_ROWS", 1)
        patch.setattr(groups, "ROWS_PER_GROUP", 8)
        patch.setattr(groups, "MAX_COMPARED", 1.0)
        yield


def sample_items(count, first=0):
    """Items whose cells differ: prices, colours, years, one or two labels."""
    colours = ["red", "green", "blue"]
    return [
        Item(
            f"item {i}",
            text=f"text of {i}",
            image=f"pictures/{i}.jpg" if i % 2 else None,
            labels=("dog", "pet") if i % 3 == 0 else ("cat",),
            columns={"price": i / 2, "colour": colours[i % 3], "year": 2000 + i % 5},
            kind="pair" if i % 2 else "text",
        )
        for i in range(first, first + count)
    ]
