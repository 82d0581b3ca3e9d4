"""What is found wrong before training begins."""

import os
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import (
    DataError,
    LabelError,
    MissingExtra,
    MissingFile,
    RunError,
    SettingError,
)
from fdch.methods.fdch import FDCH
from fdch.networks.backbones.efficientnet_weights import PUBLISHED
from fdch.runs.preparation import require_free_folder, require_ready, require_sides
from fdch.runs.run_files import CHECKPOINTS, DESCRIPTION, STATE
from fdch.training.context import Context

CPU = Context(device="cpu")


@pytest.fixture(scope="module")
def pairs():
    return PairedSet.read("scenes:60")


def test_what_is_there_is_ready():
    require_ready(FDCH(), CPU)
    require_ready(FDCH(image_network="small", finetune=True), CPU)


def test_weights_that_are_not_installed_are_missed_before_any_data_is_read(
    monkeypatch, tmp_path
):
    absent = PUBLISHED["efficientnet_lite1"]._replace(package="no_such_package")
    monkeypatch.setitem(PUBLISHED, "efficientnet_lite1", absent)
    with pytest.raises(MissingExtra, match=r"'efficientnet_lite1'.*fdch\[networks\]"):
        require_ready(FDCH(image_network="efficientnet_lite1"), CPU)
    own = tmp_path / "own.pth"
    own.touch()
    require_ready(FDCH(image_network="efficientnet_lite1", image_weights=str(own)), CPU)


@pytest.mark.parametrize(
    ("method", "context", "error", "message"),
    [
        (FDCH(image_network="cnfn"), CPU, SettingError, "did you mean 'cnnf'"),
        (FDCH(image_weights="no.mat"), CPU, MissingFile, "no file of weights 'no.mat'"),
        (FDCH(), Context(device="gpu"), SettingError, "device 'gpu' cannot be used"),
    ],
)
def test_what_is_not_there_is_refused(method, context, error, message):
    with pytest.raises(error, match=message):
        require_ready(method, context)


def test_pairs_with_all_sides_pass(pairs):
    require_sides(pairs)


def test_a_side_that_no_pair_has_is_named(pairs):
    rows = len(pairs)
    bare = {
        "image": replace(pairs, images=PictureFiles([None] * rows)),
        "text": replace(pairs, texts=Sentences([None] * rows)),
    }
    for name, without in bare.items():
        with pytest.raises(DataError, match=f"has a value for '{name}'; training"):
            require_sides(without)


def test_a_misnamed_column_is_suggested(pairs):
    column = {"label": np.full(len(pairs), "dog", dtype=object)}
    unlabelled = replace(pairs, labels=np.zeros_like(pairs.labels), columns=column)
    with pytest.raises(LabelError, match="did you mean 'label'"):
        require_sides(unlabelled)


def test_a_folder_of_pictures_is_not_advised_to_fill_in_columns(tmp_path):
    for name in ("a", "b"):
        Image.new("RGB", (4, 4)).save(tmp_path / f"{name}.png")
    bare = PairedSet.read(tmp_path)
    message = "; put a .txt with the text beside each picture and put the pictures into"
    with pytest.raises(DataError, match=message):
        require_sides(bare)
    (tmp_path / "kitchen").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "kitchen" / "c.png")
    with pytest.raises(
        DataError, match=r"put a .txt with the text beside each picture\."
    ):
        require_sides(PairedSet.read(tmp_path))


def test_labels_may_be_missing_where_none_are_needed(pairs):
    unlabelled = replace(pairs, labels=np.zeros_like(pairs.labels))
    require_sides(unlabelled, needs_labels=False)
    with pytest.raises(LabelError, match="take a method that learns without labels"):
        require_sides(unlabelled)


@pytest.mark.parametrize("resume", [True, False])
def test_new_and_empty_folders_are_free_and_stay_as_they_were(tmp_path, resume):
    require_free_folder(tmp_path / "a" / "b", resume)
    require_free_folder(tmp_path, resume)
    assert list(tmp_path.iterdir()) == []


def test_a_trained_run_is_never_written_over(tmp_path):
    (tmp_path / DESCRIPTION).touch()
    with pytest.raises(RunError, match="already holds a trained run"):
        require_free_folder(tmp_path, resume=False)


def test_unfinished_training_goes_on_only_on_request(tmp_path):
    (tmp_path / CHECKPOINTS).mkdir()
    (tmp_path / STATE).touch()
    (tmp_path / "image_weights.mat").touch()
    require_free_folder(tmp_path, resume=True)
    with pytest.raises(RunError, match="Add --resume"):
        require_free_folder(tmp_path, resume=False)


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match=r"other files, such as 'thesis\.tex'"):
        require_free_folder(tmp_path, resume=True)


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="is not a folder that may be written"):
        require_free_folder(tmp_path / "file" / "run", resume=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="is not a folder that may be written"):
        require_free_folder(tmp_path / "run", resume=False)


def test_a_folder_named_for_the_table_in_it_is_told_apart(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    table = tmp_path / "pairs.csv"
    table.write_text("id,image,text,labels\n1,a.png,a mug,mug\n")
    message = f"The folder contains 'pairs.csv': to read that table, write '{table}'"
    with pytest.raises(DataError, match=re.escape(message)):
        require_sides(PairedSet.read(tmp_path))
