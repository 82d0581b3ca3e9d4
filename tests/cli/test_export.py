"""`fdch export` writes graphs and says what they are."""

import json

import pytest

pytest.importorskip("onnx")


def test_files_and_model_are_reported(fdch, on_features, tmp_path):
    result = fdch("export", on_features.run, "--to", "onnx", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        *("image", "text", "pair", "manifest", "model"),
    ]
    assert (tmp_path / "out" / "pair.onnx").is_file()


def test_json_is_the_manifest(fdch, on_features, tmp_path):
    result = fdch("export", on_features.run, "--out", tmp_path / "out", "--json")
    document = json.loads(result.stdout)
    assert document.pop("folder") == str(tmp_path / "out")
    assert document == json.loads((tmp_path / "out" / "export.json").read_text())


def test_what_is_no_run_is_refused(fdch, tmp_path):
    result = fdch("export", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "no trained method" in result.stderr
    assert not (tmp_path / "out").exists()
