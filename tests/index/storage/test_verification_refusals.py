"""What has nothing of an index in it is neither verified nor repaired."""

import pytest

from fdch.errors import IndexFolderError, MissingIndex
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.storage.maintenance.verification import verify_folder


@pytest.mark.parametrize("look", [verify_folder, repair_folder])
def test_a_folder_of_something_else_is_refused_and_left_alone(look, tmp_path):
    with pytest.raises(IndexFolderError, match="is not an index"):
        look(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("look", [verify_folder, repair_folder, CodeFolder.open])
def test_a_folder_that_is_not_there_is_reported(look, tmp_path):
    with pytest.raises(MissingIndex, match="does not exist"):
        look(tmp_path / "index")
