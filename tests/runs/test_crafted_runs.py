"""Runs whose checksums hold, whatever their files were made to say."""

import json
import pickle
import shutil
import struct
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save
from tests.fuzz.tiny_runs import make_run, replace_file, tiny_pairs, use_run

from fdch import Index, Searcher, methods
from fdch.errors import DamagedRun, FdchError
from fdch.networks.weights import weights_to_arrays
from fdch.runs.run import open_run
from fdch.runs.run_files import DESCRIPTION, SEEN, STATE

# those whose state holds more than maps and weights of networks
IN_FULL = ("fdch_plus", "lcmh", "lssh", "seph_km")
NAMES = [
    pytest.param(name, marks=() if name in IN_FULL else pytest.mark.slow)
    for name in methods.names()
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folders = {}

    def make(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            make_run(folders[name], name)
        return folders[name]

    return make


def crafted(array):
    """Give arrays as they may stand in place of one."""
    yield np.zeros_like(array)
    yield array.reshape(-1)
    yield array[None]
    rows = np.atleast_1d(array)
    yield from (rows[:1], rows[:0], rows[..., :0], np.concatenate([rows, rows]))
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -1e29, 1e29, 1e38, 1e-300):
            yield np.full_like(array, value)
        yield -array - 1
    else:
        yield np.full_like(array, np.iinfo(array.dtype).max)
        yield np.full_like(array, np.iinfo(array.dtype).min)
    for dtype in ("?", "i1", "u1", "i8", "u8", "f2", "f4", "f8"):
        yield array.astype(dtype)


def own_keys(folder, state):
    """The arrays that a method reads itself, and one weight of a network."""
    networks = getattr(open_run(folder).method, "_networks", {})
    weights = sorted(weights_to_arrays(networks))
    return sorted(state.keys() - set(weights[1:]))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NAMES)
def test_every_array_of_a_state_is_used_or_refused(made, name):
    folder = made(name)
    whole = (folder / STATE).read_bytes()
    state, refused = load(whole), 0
    use_run(folder)
    keys = own_keys(folder, state)
    for key in keys:
        rest = {name: array for name, array in state.items() if name != key}
        others = [{key: np.ascontiguousarray(each)} for each in crafted(state[key])]
        for other in [*others, {}, {f"{key}.x": state[key]}]:
            replace_file(folder, STATE, save({**rest, **other}))
            try:
                use_run(folder)
            except FdchError as problem:
                assert len(str(problem)) < 3000
                refused += 1
            except Exception as problem:
                shown = {k: (v.dtype, v.shape) for k, v in other.items()}
                pytest.fail(f"{key} as {shown}: {problem!r}")
    assert refused > 3 * len(keys)
    replace_file(folder, STATE, whole)
    use_run(folder)


def test_the_model_of_an_index_is_checked_like_a_run(made, tmp_path):
    folder = shutil.copytree(made("fdch_plus"), tmp_path / "run")
    run = open_run(folder)
    state = load((folder / STATE).read_bytes())
    replace_file(folder, STATE, save(state | {"classes": np.zeros(0, np.int64)}))
    facts = json.loads((folder / DESCRIPTION).read_text())
    Index.create(tmp_path / "index", replace(run, facts=facts))
    with pytest.raises(DamagedRun, match=r"classes has shape \(0,\); expected \(1,\)"):
        Searcher(tmp_path / "index").by_text("dog")


@pytest.mark.parametrize("labels", [0, 3])
@pytest.mark.parametrize("settings", [{}, {"label_bytes": 0}, {"pair_bytes": 0}])
def test_whole_runs_open_whatever_they_order_by(tmp_path, labels, settings):
    pairs = tiny_pairs()
    if not labels:
        none = np.zeros((len(pairs), 0), np.uint8)
        pairs = replace(pairs, labels=none, label_names=())
    make_run(tmp_path, "fdch_plus", pairs, **settings)
    use_run(tmp_path)


def change_inputs(folder, **changes):
    state = load((folder / STATE).read_bytes())
    facts = json.loads(state["inputs"].tobytes()) | changes
    state["inputs"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    replace_file(folder, STATE, save(state))


def test_a_network_of_another_width_is_refused(made, tmp_path):
    folder = shutil.copytree(made("cmfh"), tmp_path / "run")
    change_inputs(folder, image_network="efficientnet_lite0")
    method = open_run(folder).method
    with pytest.raises(DamagedRun, match="gives 1280 features"):
        method.encode_images(np.zeros((1, 8, 8, 3), np.uint8))


def npy(shape, dtype="|u1", content=b"x" * 32, ending="\n"):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    return (
        b"\x93NUMPY\x01\0"
        + struct.pack("<H", len(header) + 1)
        + (header + ending).encode()
        + content
    )


SEEN_FILES = {
    "no rows of nothing": npy("(10000000000000, 0)", content=b""),
    "146 TiB": npy("(10000000000000, 16)"),
    "more than any": npy("(10000000000000000000000000000000, 16)"),
    "fewer than none": npy("(-2, 16)"),
    "a truth": npy("(True, 16)"),
    "one number": npy("()", content=b"x"),
    "too wide": npy("(1, 32)"),
    "texts": npy("(2, 16)", "|S1"),
    "objects": npy("(2, 16)", "|O"),
    "too short": npy("(3, 16)"),
    "too long": npy("(1, 16)"),
    "brackets": b"\x93NUMPY\x01\0" + struct.pack("<H", 5000) + b"(" * 5000,
    "no python": b"\x93NUMPY\x01\0" + struct.pack("<H", 30) + b"'" * 30,
    "a zip file": b"PK\x03\x04" + b"x" * 40,
    "a pickle": pickle.dumps([1]),
    "nothing": b"",
}


@pytest.mark.parametrize("content", SEEN_FILES.values(), ids=SEEN_FILES)
def test_hashes_that_are_none_are_refused_before_they_are_read(made, tmp_path, content):
    folder = shutil.copytree(made("cmfh"), tmp_path / "run")
    replace_file(folder, SEEN, content)
    run = open_run(folder)
    with pytest.raises(DamagedRun, match="does not hold hashes of images"):
        run.seen_images()


def test_whole_hashes_are_read(made, tmp_path):
    folder = shutil.copytree(made("cmfh"), tmp_path / "run")
    assert open_run(folder).seen_images() == frozenset([b"0123456789abcdef"])
    replace_file(folder, SEEN, npy("(2, 16)", content=b"a" * 16 + b"b" * 16))
    assert open_run(folder).seen_images() == frozenset([b"a" * 16, b"b" * 16])
