"""Words read as others of like meaning: the script's figures, as the docs have them."""

import runpy
from pathlib import Path

import pytest

from fdch.data.static_words import is_installed

SCRIPT = Path(__file__).parents[2] / "scripts" / "measure_meanings.py"


@pytest.mark.skipif(not is_installed(), reason="needs the extra static")
def test_synonyms_are_read_and_unrelated_words_are_not():
    found = runpy.run_path(str(SCRIPT))["measure"]()
    assert found["words"] == {"synonyms": 80, "unrelated": 80}
    [used] = [
        each for each in found["read"] if each["threshold"] == found["threshold in use"]
    ]
    assert list(used.values()) == [0.5, 30, 0, 0]
    assert found["cosine of cup and mug"] == 0.21
