"""Measure how often results have the brand and the value that a title names.

fdch train fashion/pairs.csv --query-pairs 2000 --train-pairs 5000 --out runs/fashion
python scripts/measure_named_values.py runs/fashion baseColour

Titles of the run's test queries search all other pairs by codes, without matching
words. A title's first word counts as its brand. A value is named where the title
holds the word that stands in the column.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from fdch import Index, Searcher, open_run
from fdch.runs.method_scores import read_own_pairs

FIRST = 10


def measure(run: str, column: str) -> dict[str, float | None]:
    """Return the share of the first ten with the brand, and with the named value."""
    opened = open_run(run)
    pairs = read_own_pairs(opened, None)
    rows = opened.split().rows(pairs)
    queries = pairs[rows.query]
    brands, values = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.create(Path(folder) / "index", opened) as index,
    ):
        index.add(pairs[rows.database])
        searcher = Searcher(index)
        for row in range(len(queries)):
            title = queries.texts.text(row) or ""
            value = str(queries.columns[column][row])
            found = list(searcher.by_text(title, k=FIRST, match="codes"))
            brand = title.split()[0].casefold()
            brands.append(
                [(one.text or "").casefold().startswith(brand) for one in found]
            )
            if value.casefold() in title.casefold().split():
                values.append([one.columns.get(column) == value for one in found])
    return {
        "queries": len(brands),
        "brand": round(float(np.mean(brands)), 3),
        f"queries naming {column}": len(values),
        column: round(float(np.mean(values)), 3) if values else None,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", help="a trained run")
    parser.add_argument("column", help="a column of its data, such as baseColour")
    sys.stdout.write(json.dumps(measure(**vars(parser.parse_args()))) + "\n")
