"""What the compiled kernels rely on."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fdch.index.search as package
from fdch.codes import hamming_distances
from fdch.index.search.rows import row_codes, row_shape

FILES = sorted(Path(package.__file__).parent.glob("*_kernels.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_functions_are_defined_before_they_are_called(file):
    # `compiled` names a cached kernel by all that it calls, as far as that is defined.
    functions = [
        node
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
    ]
    later = {function.name for function in functions}
    for function in functions:
        later.discard(function.name)
        called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        assert not called & later, function.name


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128, 192, 256, 320, 384, 512])
def test_chunks_masks_and_distances_are_those_of_numpy(bits):
    pytest.importorskip("numba", reason="numba is not installed")
    from fdch.compiled import compiled
    from fdch.index.search import distance_kernels as kernels
    from fdch.index.search import vectors

    words = row_shape(bits)
    rng = np.random.default_rng(bits)
    kind = np.dtype(f"u{min(bits, 64) // 8}")
    high = 2 ** (kind.itemsize * 8) - 1
    rows = rng.integers(0, high, 300 * len(words), kind, endpoint=True)
    rows[200 * len(words) : 201 * len(words)] = rows[: len(words)]  # a repeat
    shape = (-1,) if len(words) == 1 else (-1, len(words))
    codes = row_codes(rows.reshape(shape), bits)
    distances = hamming_distances(codes[:1], codes)[0]

    @compiled
    def call(rows, words, start, stop, limit, near):
        query = vectors.take_query(rows, 0, words)
        taken = kernels.collect(rows, start, stop, query, limit, near)
        chunk = kernels.next_chunk(rows, start, stop, query, limit)
        row = kernels.first_below(rows, start, stop, query, limit)
        return taken, chunk, row, kernels.least(rows, start, stop, query)

    for start, stop in ((0, 300), (1, 299), (128, 256), (130, 140), (201, 300)):
        part = distances[start:stop]
        for limit in (1, int(np.median(part)), bits + 1):
            near = np.empty(300, dtype=np.int64)
            taken, chunk, row, least = call(rows, words, start, stop, limit, near)
            right = [start + i for i in np.flatnonzero(part < limit)]
            assert (near[:taken] & (2**48 - 1)).tolist() == right
            assert (near[:taken] >> 48).tolist() == distances[right].tolist()
            assert row == (right[0] if right else stop)
            assert least == part.min()
            assert chunk == max(start, row // 128 * 128) if right else chunk == stop


CHECKED = """
import numpy as np
from fdch.codes import Codes
from fdch.index.search.buckets import Buckets, within_buckets
from fdch.index.search.gallery import Gallery, Part
from fdch.index.search.groups import group_rows
from fdch.index.search.lookup import nearest, within

rng = np.random.default_rng(0)
rows = rng.integers(0, 2**24, 20_000, dtype=np.uint64)
rows[5000:] %= 3  # ties
grouping = group_rows(rows, 64, rows[:7], 1)
buckets = Buckets.build(grouping.rows, 64)
assert buckets is not None
part = Part(rows, 0, rng.random(len(rows)) < 0.1, grouping, buckets)
codes = Codes(rows[:3].view(np.uint8).reshape(-1, 8), 64)
within_buckets(part, buckets, rows[:3], 3, 10**12)
for gallery in (Gallery(64, (part,)), Gallery(64, (Part(rows, 0),))):
    for k in (1, 700, 20_000):
        nearest(gallery, codes, k, threads=1, engine="numba")
        within(gallery, codes, 9, most=k, threads=1, engine="numba")
    within(gallery, codes, 64, threads=1, engine="numba")
"""


@pytest.mark.slow  # compiles most kernels once more
def test_kernels_stay_inside_their_arrays(tmp_path):
    pytest.importorskip("numba", reason="numba is not installed")
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment = {**os.environ, **checked}
    subprocess.run([sys.executable, "-c", CHECKED], env=environment, check=True)
