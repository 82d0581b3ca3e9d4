"""The script that counts what a query enters."""

import runpy
from pathlib import Path

import numpy as np

from fdch import Codes
from fdch.codes import hamming_distances

SCRIPT = Path(__file__).parents[2] / "scripts" / "trace_query.py"


def test_each_function_of_a_second_search_counts_once():
    trace = runpy.run_path(str(SCRIPT))["trace"]
    codes = Codes.from_signs(np.ones((1, 8)))
    searches = []

    def search():
        searches.append(hamming_distances(codes, codes))
        searches.append(hamming_distances(codes, codes))

    files = trace(search)
    assert len(searches) == 4
    assert dict(files) == {
        "codes.py": trace(lambda: hamming_distances(codes, codes))["codes.py"]
    }
    assert 1 <= files.total() < 10
