"""What an installation has, and what its extras lack."""

import json
import platform

from fdch import __version__
from fdch.cli.doctor import find_missing


def test_versions_device_and_extras_are_shown(fdch):
    found = json.loads(fdch("doctor", "--json").stdout)
    assert found["fdch"] == __version__
    assert found["python"] == platform.python_version()
    assert found["packages"]["numpy"]
    assert found["device"].startswith(("cpu", "cuda"))
    assert {"train", "serve", "milvus"} <= found["missing"].keys()
    shown = fdch("doctor").stdout
    assert f"fdch         {__version__}" in shown
    assert "pip install 'fdch[NAME]'" in shown


def test_missing_packages_are_named_by_extra():
    found = find_missing(
        [
            "numpy>=2.0",
            'numpy>=2.0; extra == "train"',
            'no-such-package>=1; extra == "train"',
            "another_one==2.3; sys_platform == 'linux' and extra == 'dev'",
            'fdch[train]; extra == "dev"',
            'click>=8; extra == "fast"',
        ]
    )
    assert found == {
        "train": ["no-such-package"],
        "dev": ["another_one", "no-such-package"],
        "fast": [],
    }
