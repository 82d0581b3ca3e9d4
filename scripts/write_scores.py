"""Write docs/scores.md: every method by every measure, from `fdch reproduce` tables.

python scripts/write_scores.py "TITLE=DIR/table2.csv" ...
"""

import csv
import sys
from pathlib import Path

from fdch.reproduction.recipe import label

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scores.md"
HEAD = """<!-- written by scripts/write_scores.py -->

# Scores of every method

<!-- not run: needs a data set from elsewhere -->
```sh
fdch reproduce table2 --data DATA --query-pairs 2000 --train-pairs 5000 \
--bits 16,64 --out DIR
```

- `scenes:2000` has 200 queries and 1,000 training pairs: leave out both options.
- Mean ± standard deviation of three seeds, tie-aware. The best of a column is bold.
- I → T: pictures are the queries, texts the gallery; T → I the other way round.
- FDCH+ stores 8 more bytes per item than the others, which order results.
- Unified gallery: the database's pairs by their unified codes, where a method has them.
- Partner recall@10: how often a query's own other half is among the first ten of all
  queries' halves. It has no meaning in the unified gallery.
- `DIR/table2.csv` also has the intervals over queries, other orders of ties and chance.

What the scores say, and how they were measured: [results](results.md).
"""
MEASURES = {
    "map": "mAP",
    "precision_at_1": "P@1",
    "precision_at_10": "P@10",
    "ndcg_at_10": "NDCG@10",
    "partner_recall_at_10": "partner recall@10",
}
DIRECTIONS = {"image_to_text": "I → T", "text_to_image": "T → I"}

Row = dict[str, str]


def write_page(tables: dict[str, Path]) -> str:
    """Write one section for each data set."""
    parts = [HEAD]
    for title, path in tables.items():
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        parts.append(f"## {title}\n")
        for gallery in ("modality", "unified"):
            for bits in sorted({row["bits"] for row in rows}, key=int):
                chosen = [
                    row
                    for row in rows
                    if row["gallery"] == gallery and row["bits"] == bits
                ]
                parts.append(f"{gallery.capitalize()} gallery, {bits} bits:\n")
                parts.append(_write_table(chosen))
    return "\n".join(parts)


def _write_table(rows: list[Row]) -> str:
    columns = [
        (measure, direction)
        for measure in MEASURES
        for direction in DIRECTIONS
        if any(row[measure] for row in rows)
    ]
    cells = {(row["method"], row["direction"]): row for row in rows}
    names = [f"{MEASURES[m]} {DIRECTIONS[d]}" for m, d in columns]
    lines = [f"| | {' | '.join(names)} |", "| --- |" + " --- |" * len(columns)]
    best = {
        (measure, direction): max(
            float(row[measure]) for row in rows if row["direction"] == direction
        )
        for measure, direction in columns
    }
    for method in dict.fromkeys(row["method"] for row in rows):
        shown = [_write_cell(cells[method, d], m, best[m, d]) for m, d in columns]
        lines.append(f"| {label(method)} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _write_cell(row: Row, measure: str, best: float) -> str:
    mean, spread = float(row[measure]), row[f"{measure} std"]
    text = f"{mean:.3f} ± {float(spread):.3f}" if spread else f"{mean:.3f}"
    return f"**{text}**" if mean == best else text


if __name__ == "__main__":
    pairs = (argument.split("=", 1) for argument in sys.argv[1:])
    PAGE.write_text(write_page({title: Path(path) for title, path in pairs}), "utf-8")
