"""What is kept between runs: measured and deleted, other files left alone."""

import json


def fill(folder):
    (folder / "exports" / "model").mkdir(parents=True)
    for name in ("results.sqlite", "results.sqlite-wal", "pixels-ab.npy"):
        (folder / name).write_bytes(b"x" * 10)
    (folder / "exports" / "model" / "image.onnx").write_bytes(b"x" * 10)
    (folder / "notes.txt").write_text("mine")


def test_clear_deletes_what_can_be_computed_again(fdch, tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path))
    fill(tmp_path)
    found = json.loads(fdch("cache", "clear", "--json").stdout)
    assert found == {"folder": str(tmp_path), "files": 4, "bytes": 40}
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert "deleted 0 files of 0 bytes" in fdch("cache", "clear").stdout


def test_clear_without_a_cache_does_nothing(fdch, tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path / "none"))
    assert "deleted 0 files" in fdch("cache", "clear").stdout


def test_doctor_measures_the_cache(fdch, tmp_path, monkeypatch):
    monkeypatch.setenv("FDCH_CACHE", str(tmp_path))
    fill(tmp_path)
    found = json.loads(fdch("doctor", "--json").stdout)
    assert found["cache"] == {"folder": str(tmp_path), "files": 4, "bytes": 40}


def test_a_file_in_place_of_the_cache_is_refused(fdch, tmp_path, monkeypatch):
    path = tmp_path / "cache"
    path.write_text("mine")
    monkeypatch.setenv("FDCH_CACHE", str(path))
    done = fdch("cache", "clear")
    assert done.exit_code == 1
    assert "is a file; expected a folder. Check FDCH_CACHE" in done.stderr
    assert path.read_text() == "mine"
