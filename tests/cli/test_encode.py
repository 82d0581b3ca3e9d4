"""Codes in a file."""

import json

import numpy as np
import pytest

from fdch.retrieval.index import Index
from fdch.runs.encoding import encode_pairs
from fdch.runs.run import open_run


@pytest.fixture(scope="module")
def written(fdch, on_scenes, shared_cache, tmp_path_factory):
    out = tmp_path_factory.mktemp("codes") / "codes.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        result = fdch("encode", on_scenes.run, "scenes:60", "--out", out)
    assert result.exit_code == 0, result.stderr
    return result, out


def test_a_line_says_what_was_written(written, on_scenes):
    result, out = written
    first, second = result.stdout.splitlines()
    assert first == f"{out}: 16-bit codes of 60 pairs of scenes:60"
    assert second == f"model {open_run(on_scenes.run).fingerprint}"


def test_codes_lie_beside_their_ids(written, on_scenes, scenes):
    run = open_run(on_scenes.run)
    codes = encode_pairs(run.method, scenes)
    with np.load(written[1], allow_pickle=False) as file:
        assert file["ids"].tolist() == scenes.ids.tolist()
        assert file["ids"].dtype.kind == "U"
        assert np.array_equal(file["image"], codes.image.packed)
        assert np.array_equal(file["text"], codes.text.packed)
        assert codes.unified is not None
        assert np.array_equal(file["unified"], codes.unified.packed)
        assert file["has_image"].all()
        assert file["has_text"].all()
        assert int(file["bits"]) == 16
        assert str(file["method"]) == "fdch"
        assert str(file["fingerprint"]) == run.fingerprint


def test_codes_are_not_taken_for_features(fdch, written, on_scenes, tmp_path):
    for words in (
        ("train", written[1], "--out", tmp_path / "run"),
        ("index", "create", tmp_path / "index", "--run", on_scenes.run, written[1]),
    ):
        result = fdch(*words)
        assert result.exit_code == 1
        assert "it holds codes that 'fdch encode' wrote" in result.stderr
        assert not any(tmp_path.iterdir())


def test_what_orders_results_goes_with_the_codes(fdch, on_features, tiny, tmp_path):
    run, index, out = (tmp_path / name for name in ("run", "index", "codes.npz"))
    quick = ("--set", "label_epochs=1", "--set", "pair_epochs=1")
    plus = (*tiny, "--method", "fdch_plus", "--bits", 16, *quick, "--out", run)
    for words in (
        ("train", on_features.data, *plus),
        ("index", "create", index, "--run", run, on_features.data),
        ("encode", run, on_features.data, "--out", out),
    ):
        result = fdch(*words)
        assert result.exit_code == 0, result.stderr
    with Index.open(index) as opened:
        ids = [str(name) for name in np.load(out)["ids"]]
        _, codes, vectors = opened.store.fetch(ids)
    result = fdch("index", "add", index, out)
    assert result.exit_code == 0, result.stderr
    with Index.open(index) as opened:
        _, again, same = opened.store.fetch(ids)
    np.testing.assert_array_equal(again.packed, codes.packed)
    np.testing.assert_array_equal(same, vectors)
    assert vectors is not None and len(np.unique(vectors, axis=0)) > 1


def test_codes_of_numbered_rows_replace_no_others(
    fdch, on_scenes, photo_rows, manifest, tmp_path
):
    index, first, second = (tmp_path / name for name in ("index", "a.csv", "b.csv"))
    columns = ("image", "text", "labels")
    manifest(first, photo_rows[:3], columns)
    manifest(second, photo_rows[3:6], columns)
    fdch("index", "create", index, "--run", on_scenes.run, first)
    for data, code in ((first, 0), (second, 1)):
        out = data.with_suffix(".npz")
        assert fdch("encode", on_scenes.run, data, "--out", out).exit_code == 0
        added = fdch("index", "add", index, out)
        assert added.exit_code == code, added.stderr
    assert "the data has no ids, so that row 1 would replace" in added.stderr


def test_rows_may_lack_a_side(fdch, on_scenes, photo_rows, manifest, tmp_path):
    rows = [
        {**photo_rows[0], "text": ""},
        {**photo_rows[1], "image": ""},
        {**photo_rows[2], "labels": ""},
    ]
    data, out = manifest(tmp_path / "pairs.csv", rows), tmp_path / "codes.npz"
    result = fdch("encode", on_scenes.run, data, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["with_image"], document["with_text"]) == (2, 2)
    with np.load(out, allow_pickle=False) as file:
        assert file["has_image"].tolist() == [True, False, True]
        assert file["has_text"].tolist() == [False, True, True]
        assert not file["image"][1].any()
        assert not file["text"][0].any()
        assert np.array_equal(file["unified"][0], file["image"][0])


def test_a_text_without_a_known_word_is_refused_with_near_ones(
    fdch, on_scenes, photo_rows, manifest, tmp_path
):
    rows = [photo_rows[0], {**photo_rows[1], "text": "hous qwertz"}]
    data, out = manifest(tmp_path / "pairs.csv", rows), tmp_path / "codes.npz"
    result = fdch("encode", on_scenes.run, data, "--out", out)
    assert result.exit_code == 1
    assert f"the text of '{rows[1]['id']}' has no word that the run knows" in (
        result.stderr
    )
    assert "'hous qwertz'. Near ones are: house." in result.stderr
    assert "--broken skip" in result.stderr
    assert not out.exists()


def test_or_skipped_and_counted(fdch, on_scenes, photo_rows, manifest, tmp_path):
    rows = [photo_rows[0], {**photo_rows[1], "text": "qwertz"}]
    data, out = manifest(tmp_path / "pairs.csv", rows), tmp_path / "codes.npz"
    result = fdch(
        *("encode", on_scenes.run, data, "--out", out, "--broken", "skip", "--json")
    )
    document = json.loads(result.stdout)
    assert document["pairs"] == 1
    assert document["skipped"] == [
        {"row": rows[1]["id"], "reason": "its text has no known word"}
    ]
    assert "skipped 1 broken row" in result.stderr


def test_rows_that_are_all_unusable_are_an_error(
    fdch, on_scenes, photo_rows, manifest, tmp_path
):
    rows = [{**row, "text": "qwertz"} for row in photo_rows[:3]]
    data, out = manifest(tmp_path / "pairs.csv", rows), tmp_path / "codes.npz"
    result = fdch("encode", on_scenes.run, data, "--out", out, "--broken", "skip")
    assert result.exit_code == 1
    assert "none of the 3 rows of 'pairs' can be encoded" in result.stderr
    refused = fdch("encode", on_scenes.run, data, "--out", out)
    assert "Some that it knows are" in refused.stderr
    assert "2 other rows have the same problem." in refused.stderr
    assert not out.exists()


def test_an_empty_vector_is_a_text_without_words(fdch, on_features, features, tmp_path):
    with np.load(on_features.data) as file:
        text = file["text"].copy()
    text[4] = 0
    data = features(tmp_path / "f.npz", text=text)
    result = fdch("encode", on_features.run, data, "--out", tmp_path / "c.npz")
    assert result.exit_code == 1
    assert "is all zero" in result.stderr


def test_features_for_a_run_on_pictures_are_refused(
    fdch, on_scenes, on_features, tmp_path
):
    out = tmp_path / "codes.npz"
    result = fdch("encode", on_scenes.run, on_features.data, "--out", out)
    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_file_survives_a_failure(fdch, on_scenes, tmp_path):
    out = tmp_path / "codes.npz"
    out.write_text("precious")
    assert fdch("encode", on_scenes.run, "nothing.csv", "--out", out).exit_code == 1
    assert out.read_text() == "precious"


def test_a_manifest_is_not_written_over(
    fdch, on_scenes, photo_rows, manifest, tmp_path
):
    data = manifest(tmp_path / "pairs.csv", photo_rows[:3])
    before = data.read_bytes()
    result = fdch("encode", on_scenes.run, data, "--out", data)
    assert result.exit_code == 1
    assert "does not end in .npz" in result.stderr
    assert data.read_bytes() == before


def test_features_are_not_written_over(fdch, on_features, features, tmp_path):
    data = features(tmp_path / "features.npz")
    before = data.read_bytes()
    result = fdch("encode", on_features.run, data, "--out", data)
    assert result.exit_code == 1
    assert "is read by this command" in result.stderr
    assert data.read_bytes() == before


def test_codes_are_written_through_a_link(fdch, on_features, tmp_path):
    link = tmp_path / "link.npz"
    link.symlink_to("codes.npz")
    result = fdch("encode", on_features.run, on_features.data, "--out", link, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["codes"] == str(link)
    assert link.is_symlink()
    with np.load(tmp_path / "codes.npz") as file:
        assert len(file["ids"]) == 120


def test_a_place_that_cannot_be_written_is_reported_first(fdch, tmp_path):
    result = fdch("encode", "no-run", "scenes:60", "--out", tmp_path)
    assert result.exit_code == 1
    assert "is a folder; name a file" in result.stderr
