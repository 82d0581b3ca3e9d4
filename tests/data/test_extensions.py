"""What other installed packages add, found and loaded by name."""

import sys

import pytest
from tests.installed_package import install

from fdch import ImageNetwork, TextEncoder, methods
from fdch.data.extensions import (
    IMAGE_NETWORKS,
    METHODS,
    TEXT_ENCODERS,
    find_extensions,
    find_folder,
    find_package,
    load_extension,
    require_packages,
)
from fdch.errors import MissingFile, MissingPackage, SettingError


@pytest.fixture
def installed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(install(tmp_path / "site"))
    yield
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def test_what_a_package_adds_is_found_without_importing_it(installed):
    assert {"colours", "gone"} <= find_extensions(IMAGE_NETWORKS).keys()
    assert "own_network" not in sys.modules
    assert find_package(IMAGE_NETWORKS, "colours") == "own-fdch"
    assert find_package(TEXT_ENCODERS, "transformers:models/clip") == "transformers"
    assert find_package(IMAGE_NETWORKS, "efficientnet_lite0") is None


def test_nothing_is_found_where_no_package_adds_it():
    assert load_extension(IMAGE_NETWORKS, "colours", ImageNetwork) is None


def test_the_first_of_two_packages_wins(installed, tmp_path, monkeypatch):
    first = install(tmp_path / "first", made_with="2.0")
    points = first / "own_fdch-2.0.dist-info" / "entry_points.txt"
    points.write_text("[fdch.image_networks]\ncolours = first:colours\n")
    about = first / "own_fdch-2.0.dist-info" / "METADATA"
    about.write_text(about.read_text().replace("own-fdch", "first"))
    monkeypatch.syspath_prepend(first)
    assert find_package(IMAGE_NETWORKS, "colours") == "first"


def test_what_cannot_be_loaded_names_the_package(installed):
    with pytest.raises(
        SettingError, match=r"'gone' of the package own-fdch .*own_noth"
    ):
        load_extension(IMAGE_NETWORKS, "gone", ImageNetwork)
    with pytest.raises(SettingError, match=r"is a str; .* takes a TextEncoder"):
        load_extension(TEXT_ENCODERS, "broken", TextEncoder)


def test_methods_of_other_packages_are_listed_and_loaded(installed):
    assert {"fdch", "own_dch"} <= set(methods.names())
    own = methods.load("own_dch")
    assert own.__name__ == "OwnDCH"
    assert own(bits=8).name == "own_dch"
    assert methods.load("dch")(bits=8).name == "dch"


def test_methods_of_another_kind_are_refused(installed):
    with pytest.raises(SettingError, match=rf"is a function; .*'{METHODS}' takes"):
        methods.load("wrong")


def test_missing_packages_are_named_with_their_version(installed):
    require_packages("the run 'a'", {"own-fdch": "1.5", "numpy": "2.0"})
    with pytest.raises(MissingPackage, match=r"run 'a' needs .*'gone-fdch'.*3\.1"):
        require_packages("the run 'a'", {"gone-fdch": "3.1"})


def test_a_folder_that_has_moved_is_found_by_its_last_name(tmp_path, monkeypatch):
    (tmp_path / "clip").mkdir()
    moved = "transformers:/gone/clip"
    with pytest.raises(MissingFile, match="no model folder '/gone/clip'"):
        find_folder(moved)
    monkeypatch.setenv("FDCH_MODELS", str(tmp_path))
    assert find_folder(moved) == tmp_path / "clip"
    with pytest.raises(MissingFile, match="no model folder '/gone/siglip'"):
        find_folder("transformers:/gone/siglip")
