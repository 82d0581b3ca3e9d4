"""Run folders: whole, checked, and usable without the data."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fdch import __version__
from fdch.data.splits import Split
from fdch.errors import DamagedRun, DataError, FdchError, NewerRun, NotFitted, RunError
from fdch.files import checksum
from fdch.index.storage.folder import CodeFolder
from fdch.methods.fdch import FDCH
from fdch.methods.fdch_i import FDCHI
from fdch.runs.encoding import calibrate
from fdch.runs.run import copy_model, open_run, save_run
from fdch.runs.run_files import (
    CALIBRATION,
    DESCRIPTION,
    SPLIT,
    STATE,
    is_finished,
)
from fdch.training.context import Context

QUICK = FDCH(
    bits=12,
    seed=3,
    fusion_width=16,
    text_hidden=24,
    fusion_hidden=16,
    stage_one_epochs=1,
    stage_two_epochs=1,
    batch_size=40,
)


@pytest.fixture(scope="module")
def pairs(factor_pairs):
    return factor_pairs(100)


@pytest.fixture(scope="module")
def fitted(pairs):
    return FDCH(**asdict(QUICK)).fit(pairs)


@pytest.fixture
def saved(tmp_path, pairs, fitted):
    return save_run(tmp_path / "run", fitted, Split.draw(pairs), {"note": "é"})


def description(run):
    return json.loads((run.folder / DESCRIPTION).read_text("utf-8"))


def rewrite(run, **changes):
    """Change fields of the description; ... removes one."""
    facts = description(run) | changes
    facts = {key: value for key, value in facts.items() if value is not ...}
    (run.folder / DESCRIPTION).write_text(json.dumps(facts), "utf-8")


def replace_state(run, **arrays):
    """Change arrays of the state and make the checksum fit."""
    path = run.folder / STATE
    save_file(load_file(path) | arrays, path)
    rewrite(run, files=description(run)["files"] | {STATE: checksum(path)})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [("runs/a", DataError, "got 'runs/a'.*open_run"), (FDCH(), NotFitted, "fit")],
)
def test_what_is_no_fitted_method_leaves_no_folder(tmp_path, given, error, message):
    with pytest.raises(error, match=message):
        save_run(tmp_path / "run", given)
    assert not list(tmp_path.iterdir())


def test_a_run_comes_back_as_it_was(saved, pairs, fitted):
    opened = open_run(saved.folder)
    assert (opened.name, opened.fingerprint) == ("fdch", saved.fingerprint)
    assert asdict(opened.method) == asdict(fitted)
    state, before = opened.method.state(), fitted.state()
    assert state.keys() == before.keys()
    for key, array in before.items():
        assert state[key].dtype == array.dtype
        assert np.array_equal(state[key], array)
    assert opened.method.encode_pairs(pairs) == fitted.encode_pairs(pairs)
    assert opened.method.trained_on == 100
    assert opened.split() == Split.draw(pairs)
    assert opened.facts["note"] == "é"
    assert repr(opened) == f"<Run {str(saved.folder)!r}, {fitted!r}>"


def test_a_saved_run_is_usable_at_once(saved, pairs, fitted):
    assert saved.method is fitted
    assert saved.facts == description(saved)
    assert is_finished(saved.folder)


def test_versions_settings_and_checksums_are_written(saved):
    facts = description(saved)
    assert facts["versions"]["fdch"] == __version__
    assert {"python", "torch", "numpy"} <= set(facts["versions"])
    assert facts["settings"]["bits"] == 12
    assert facts["files"][STATE]["bytes"] == (saved.folder / STATE).stat().st_size
    names = {file.name for file in saved.folder.iterdir()}
    assert names == {DESCRIPTION, STATE, SPLIT}


def test_a_variants_fixed_settings_are_written_and_opened(tmp_path, pairs):
    settings = {k: v for k, v in asdict(QUICK).items() if k != "label_weight"}
    method = FDCHI(**settings).fit(pairs)
    save_run(tmp_path / "run", method, Split.draw(pairs))
    opened = open_run(tmp_path / "run")
    assert opened.facts["settings"]["label_weight"] == 0
    assert isinstance(opened.method, FDCHI)
    assert asdict(opened.method) == asdict(method)


def test_equal_models_have_equal_fingerprints(tmp_path, saved, pairs, fitted):
    split = Split.draw(pairs, seed=9)
    again = save_run(tmp_path / "again", fitted, split)
    other = FDCH(**(asdict(QUICK) | {"seed": 4})).fit(pairs)
    differs = save_run(tmp_path / "other", other, split)
    assert again.fingerprint == saved.fingerprint != differs.fingerprint


def test_an_unfitted_method_leaves_no_run(tmp_path, pairs):
    with pytest.raises(NotFitted):
        save_run(tmp_path / "run", FDCH(), Split.draw(pairs))
    assert not is_finished(tmp_path / "run")


def test_a_folder_without_a_run_says_how_to_train_one(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RunError, match=r"no trained method.*fdch train"):
            open_run(folder)
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"file', which is a file.*fdch train"):
        open_run(tmp_path / "file")


def test_an_index_in_place_of_a_run_says_where_its_model_is(tmp_path):
    CodeFolder.create(tmp_path / "index", 8, "m").close()
    with pytest.raises(RunError, match=r"which is an index.*index/model'"):
        open_run(tmp_path / "index")


@pytest.mark.parametrize("file", [STATE, SPLIT])
def test_a_missing_file_is_named(saved, file):
    (saved.folder / file).unlink()
    with pytest.raises(DamagedRun, match=f"{file}' is missing"):
        open_run(saved.folder)


@pytest.mark.parametrize("file", [STATE, SPLIT])
@pytest.mark.parametrize("damage", ["changed", "cut"])
def test_a_damaged_file_is_named(saved, file, damage):
    path = saved.folder / file
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[-1]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedRun, match=f"{file}' is not the file that was written"):
        open_run(saved.folder)


def test_a_run_of_a_later_version_requires_an_upgrade(saved):
    rewrite(saved, format=2)
    with pytest.raises(
        NewerRun, match=r"format 2 \(written by fdch .*\); .*formats up to 1\. Upgrade"
    ):
        open_run(saved.folder)


@pytest.mark.parametrize("versions", [..., None, [1], {"fdch": {}}])
def test_a_later_version_may_describe_its_versions_otherwise(saved, versions):
    rewrite(saved, format=99, versions=versions)
    with pytest.raises(NewerRun, match="format 99"):
        open_run(saved.folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        "[" * 10**6,
        "\udcff",
        "{}",
        *(f'{{"format": {value}}}' for value in ('"x"', "1e999", "null", "true", "0")),
    ],
)
def test_a_description_that_is_none_is_damage(saved, text):
    path = saved.folder / DESCRIPTION
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DamagedRun, match="not a run's description"):
        open_run(saved.folder)


def test_a_huge_description_is_not_read(saved, monkeypatch):
    monkeypatch.setattr("fdch.runs.run_files.MAX_DESCRIPTION_BYTES", 100)
    with pytest.raises(DamagedRun, match="it has over 100 bytes"):
        open_run(saved.folder)


def test_a_huge_file_is_not_read(saved, monkeypatch):
    monkeypatch.setattr("fdch.runs.run_files.MAX_FILE_BYTES", 100)
    with pytest.raises(DamagedRun, match="at most 100 fit"):
        open_run(saved.folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", 3),
        ("method", ...),
        ("settings", []),
        ("files", []),
        ("fingerprint", None),
        ("files", {}),
        ("files", {STATE: {}, SPLIT: {}, "../outside": {}}),
        ("files", {STATE: {}, SPLIT: {}, "/etc/passwd": {}}),
        ("files", {STATE: {}, SPLIT: {}, "image_weights/../../x": {}}),
        ("packages", ["numpy"]),
        ("packages", {"numpy; rm -r": "2.0"}),
        ("packages", {"numpy": 2}),
    ],
)
def test_unfit_fields_are_named(saved, field, value):
    rewrite(saved, **{field: value})
    with pytest.raises(DamagedRun, match=f"missing or unfit fields: {field}"):
        open_run(saved.folder)


@pytest.mark.parametrize("name", ["nonsense", "_base", "os", "../x", ""])
def test_an_unknown_method_is_refused_without_importing_it(saved, name):
    rewrite(saved, method=name)
    with pytest.raises(FdchError, match="unknown method"):
        open_run(saved.folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"bits": 16},
        {"bits": 0},
        {"bits": "twelve"},
        {"bits": 12.5},
        {"bits": None},
        {"text_hidden": 10**9},
        {"fusion_width": -4},
        {"fusion_hidden": [1]},
        {"image_dropout": 7},
        {"image_weights": "/etc/passwd"},
        {"image_weights": "../../secret.mat"},
        {"image_weights": 7},
        {"image_weights": ["x"]},
    ],
)
def test_settings_that_do_not_fit_the_state_are_refused(saved, changes):
    rewrite(saved, settings=description(saved)["settings"] | changes)
    with pytest.raises(FdchError):
        open_run(saved.folder)


def test_hostile_sizes_are_refused_before_memory_is_taken(saved):
    huge = 10**12
    rewrite(saved, settings=description(saved)["settings"] | {"text_hidden": huge})
    with pytest.raises(DamagedRun, match=rf"does not fit .*\(16, 24\).*\(16, {huge}\)"):
        open_run(saved.folder)


def test_weights_of_other_shapes_are_refused(saved):
    wrong = np.zeros((2, 2), dtype=np.float32)
    replace_state(saved, **{"image.output.weight": wrong})
    with pytest.raises(DamagedRun, match=r"does not fit .*output\.weight"):
        open_run(saved.folder)


def test_missing_and_additional_weights_are_refused(saved):
    path = saved.folder / STATE
    arrays = load_file(path)
    del arrays["text.output.bias"]
    save_file(arrays, path)
    rewrite(saved, files=description(saved)["files"] | {STATE: checksum(path)})
    with pytest.raises(DamagedRun, match=r"text\.output\.bias"):
        open_run(saved.folder)


@pytest.mark.parametrize(
    "inputs",
    [
        "",
        "[]",
        '{"image_network": "features"}',
        "{" * 10**5,
        "[" * 10**5,
        {"items": 1e999},
        {"words": 3},
        {"words": ["one", "two"]},
        {"text_width": 7},
        {"image_width": -1},
        {"image_network": "unheard of", "finetune": True},
    ],
)
def test_hostile_inputs_are_refused(saved, inputs):
    if isinstance(inputs, dict):
        facts = json.loads(load_file(saved.folder / STATE)["inputs"].tobytes())
        inputs = json.dumps(facts | inputs)
    replace_state(saved, inputs=np.frombuffer(inputs.encode(), dtype=np.uint8))
    with pytest.raises(FdchError):
        open_run(saved.folder)


def test_a_file_that_is_no_state_is_refused(saved):
    path = saved.folder / STATE
    path.write_bytes(b"not a state at all")
    rewrite(saved, files=description(saved)["files"] | {STATE: checksum(path)})
    with pytest.raises(DamagedRun, match="cannot be opened"):
        open_run(saved.folder)


def test_a_run_opens_on_no_unknown_device(saved):
    with pytest.raises(FdchError, match="device 'abacus' cannot be used"):
        open_run(saved.folder, Context(device="abacus"))


def test_a_copy_of_the_weights_file_travels_with_the_run(
    tmp_path, pairs, fitted, monkeypatch
):
    source = tmp_path / "elsewhere.mat"
    source.write_bytes(b"weights")
    monkeypatch.setattr(fitted, "image_weights", str(source))
    run = save_run(tmp_path / "run", fitted, Split.draw(pairs))
    source.unlink()
    opened = open_run(run.folder)
    copied = run.folder / "image_weights.mat"
    assert opened.method.image_weights == str(copied)
    assert copied.read_bytes() == b"weights"
    copied.write_bytes(b"weightz")
    with pytest.raises(DamagedRun, match="image_weights"):
        open_run(run.folder)


def test_a_calibration_is_saved_and_checked(fitted, pairs, tmp_path):
    folder = tmp_path / "run"
    calibration = calibrate(fitted, pairs)
    assert calibration is not None
    save_run(folder, fitted, Split.draw(pairs), calibration=calibration)
    opened = open_run(folder)
    assert opened.calibration is not None
    assert opened.calibration.to_json() == calibration.to_json()
    path = folder / CALIBRATION
    path.write_text(path.read_text().replace("0.", "1.", 1))
    with pytest.raises(DamagedRun, match="calibration"):
        open_run(folder)


@pytest.mark.parametrize(
    "wrong", ["[]", "{", '{"bits": 3, "pairs": 5, "trained": 9, "models": {}}']
)
def test_an_unfit_calibration_is_refused(fitted, pairs, tmp_path, wrong):
    folder = tmp_path / "run"
    saved = save_run(folder, fitted, calibration=calibrate(fitted, pairs))
    (folder / CALIBRATION).write_text(wrong)
    sums = {CALIBRATION: checksum(folder / CALIBRATION)}
    rewrite(saved, files=description(saved)["files"] | sums)
    with pytest.raises(DamagedRun, match="not a run's calibration"):
        open_run(folder)


def test_the_model_of_an_index_is_a_run_without_its_split(fitted, pairs, tmp_path):
    calibration = calibrate(fitted, pairs)
    split = Split.draw(pairs)
    run = save_run(tmp_path / "run", fitted, split, calibration=calibration)
    copied = copy_model(run, tmp_path / "model")
    opened = open_run(tmp_path / "model")
    assert opened.fingerprint == copied.fingerprint == run.fingerprint
    assert opened.calibration is not None
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert names == {DESCRIPTION, STATE, CALIBRATION}
    with pytest.raises(RunError, match="keeps no split"):
        opened.split()
