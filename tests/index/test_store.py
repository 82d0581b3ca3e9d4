"""What every store promises: which code an item gets."""

import numpy as np
import pytest

from fdch.index.store import choose_kinds


@pytest.mark.parametrize(("is_unified", "pair"), [(True, "pair"), (False, "image")])
def test_an_item_gets_the_code_of_all_that_it_has(is_unified, pair):
    has_image = np.array([True, True, False, False])
    has_text = np.array([True, False, True, False])
    kinds = choose_kinds(has_image, has_text, is_unified)
    assert kinds.tolist() == [pair, "image", "text", "code"]
