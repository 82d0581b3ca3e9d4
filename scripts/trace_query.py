"""Count the files and functions of fdch that one text query enters.

python scripts/trace_query.py

It trains on a few generated pairs, indexes them, and traces `Searcher.by_text` for a
second query, when model and index are loaded; the query matches words too. With
--codes it uses codes alone.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import fdch
from fdch import FDCH, Index, PairedSet, Searcher

ROOT = Path(fdch.__file__).parent


@contextmanager
def entered() -> Iterator[set[CodeType]]:
    """Collect the code of each function of fdch that runs inside."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, value: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT) + os.sep):
            codes.add(code)

    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(None)


def trace(search: Callable[[], object]) -> Counter[str]:
    """Return how many functions of each file a search enters, lambdas aside."""
    search()
    with entered() as codes:
        search()
    named = [code for code in codes if not code.co_name.startswith("<")]
    files = Counter(str(Path(code.co_filename).relative_to(ROOT)) for code in named)
    return Counter(dict(sorted(files.items())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--codes", action="store_true", help="match no words")
    only = parser.parse_args().codes
    pairs = PairedSet.read("scenes:60")
    method = FDCH(bits=32, stage_one_epochs=1, stage_two_epochs=1).fit(pairs)
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.create(Path(folder) / "index", method) as index,
    ):
        index.add(pairs)
        searcher = Searcher(index)
        match = "codes" if only else "both"
        files = trace(lambda: searcher.by_text("a red boat", k=10, match=match))
    for name, functions in files.items():
        sys.stdout.write(f"{functions:4} {name}\n")
    sys.stdout.write(f"{len(files)} files, {files.total()} functions\n")
