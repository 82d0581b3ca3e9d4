"""Indexes whose making is stopped: whole, or not there."""

import pytest
from tests.index.storage.killing import kill_at
from tests.index.store_samples import copying

from fdch.errors import IndexFolderError
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder

FACTS = {"method": "scm"}
DRAFT = ".fdch-index-"
CREATE = (
    "from fdch.index.storage.folder import CodeFolder\n"
    "from tests.index.store_samples import copying\n"
    "CodeFolder.create(path, 32, copying(path.parent / 'run'), {'method': 'scm'})"
)


@pytest.fixture
def run(tmp_path):
    run = tmp_path / "run"
    (run / "parts").mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "parts" / "weights").write_bytes(b"weights" * 1000)
    return run


def drafts(folder):
    return sorted(path.name for path in folder.glob(".*"))


def test_the_model_is_there_from_the_first_moment(run, tmp_path):
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, copying(run), FACTS) as folder:
        assert (folder.model_folder() / "run.json").read_text() == "{}"
        assert folder.model == "model"
    assert verify_folder(path).is_clean
    (path / "model" / "parts" / "weights").write_bytes(b"others")
    assert [p.file for p in verify_folder(path).problems] == ["model/parts/weights"]


@pytest.mark.parametrize(
    "place",
    [
        "shutil.copytree",
        "fdch.index.storage.creating.flush_files",
        "fdch.index.storage.creating.begin",
        "fdch.index.storage.creating.write_log",
        "fdch.index.storage.creating.rebuild_catalogue",
        "os.rename",
    ],
)
def test_a_kill_leaves_no_index_without_its_model(run, tmp_path, place):
    path = tmp_path / "index"
    module = place.rpartition(".")[0]
    kill_at(path, f"import {module}\n{place} = die\n{CREATE}")
    assert not path.exists()
    assert len(drafts(tmp_path)) == 1
    with CodeFolder.create(path, 32, copying(run), FACTS) as folder:
        assert folder.model_folder().is_dir()
    assert drafts(tmp_path) == []
    assert verify_folder(path).is_clean


def test_what_others_are_making_is_left_alone(run, tmp_path):
    def write(folder):
        CodeFolder.create(tmp_path / "other", 32, copying(run), FACTS).close()
        assert len(drafts(tmp_path)) == 1
        return copying(run)(folder)

    CodeFolder.create(tmp_path / "index", 32, write, FACTS).close()
    assert drafts(tmp_path) == []
    for name in ("index", "other"):
        assert verify_folder(tmp_path / name).is_clean


def test_what_is_no_folder_in_the_making_is_left_alone(run, tmp_path):
    (tmp_path / (DRAFT + "1" * 31)).mkdir()
    (tmp_path / (DRAFT + "f" * 32 + ".old")).mkdir()
    (tmp_path / (DRAFT + "2" * 32)).touch()
    (tmp_path / (DRAFT + "3" * 32)).symlink_to(run, target_is_directory=True)
    before = drafts(tmp_path)
    CodeFolder.create(tmp_path / "index", 32, "model").close()
    assert drafts(tmp_path) == before
    assert (run / "run.json").exists()


def test_an_index_that_never_got_its_model_is_reported(tmp_path):
    path = tmp_path / "index"
    CodeFolder.create(path, 32, "model", FACTS).close()
    (problem,) = verify_folder(path).problems
    assert problem.file == "model"
    with pytest.raises(IndexFolderError, match=r"already exists.* remove it first"):
        CodeFolder.create(path, 32, "model", FACTS)


def test_an_index_of_codes_alone_needs_no_model(tmp_path):
    CodeFolder.create(tmp_path / "index", 32, "model").close()
    assert verify_folder(tmp_path / "index").is_clean
