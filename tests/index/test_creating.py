"""Indexes whose making is stopped: whole, or not there."""

import pytest
from tests.index.killing import kill_at

from fdch.errors import IndexFolderError
from fdch.index.folder import CodeFolder
from fdch.index.verification import verify_folder

FACTS = {"method": "scm"}
CREATE = (
    "from fdch.index.folder import CodeFolder\n"
    "CodeFolder.create(path, 32, 'model', {'method': 'scm'}, path.parent / 'run')"
)


@pytest.fixture
def run(tmp_path):
    run = tmp_path / "run"
    (run / "parts").mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "parts" / "weights").write_bytes(b"weights" * 1000)
    return run


def test_the_model_is_there_from_the_first_moment(run, tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model", FACTS, run) as folder:
        assert (folder.model_folder() / "run.json").read_text() == "{}"
        with pytest.raises(IndexFolderError, match="has its model"):
            folder.keep_model(run)
    assert verify_folder(path).is_clean
    (path / "model" / "parts" / "weights").write_bytes(b"others")
    assert [p.file for p in verify_folder(path).problems] == ["model/parts/weights"]


@pytest.mark.parametrize(
    "place",
    [
        "fdch.index.creating.begin",
        "fdch.index.creating.create_catalogue",
        "fdch.index.creating.copy_model",
        "fdch.index.creating._put_files",
        "os.rename",
    ],
)
def test_a_kill_leaves_no_index_without_its_model(run, tmp_path, place):
    path = tmp_path / "index"
    module = place.rpartition(".")[0]
    kill_at(path, f"import {module}\n{place} = die\n{CREATE}")
    assert not path.exists()
    with CodeFolder.create(path, 32, "model", FACTS, run) as folder:
        assert folder.model_folder().is_dir()
    assert verify_folder(path).is_clean


def test_an_index_that_never_got_its_model_is_told(tmp_path):
    path = tmp_path / "index"
    CodeFolder.create(path, 32, "model", FACTS).close()
    (problem,) = verify_folder(path).problems
    assert problem.file == "model"
    with pytest.raises(IndexFolderError, match=r"without a model.* remove it first"):
        CodeFolder.create(path, 32, "model", FACTS)


def test_an_index_of_codes_alone_needs_no_model(tmp_path):
    CodeFolder.create(tmp_path / "index", 32, "model").close()
    assert verify_folder(tmp_path / "index").is_clean
