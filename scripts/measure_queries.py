"""Measure queries of several parts on generated scenes, for docs/search.md.

fdch train scenes:1000 --bits 32 --set epoch_scale=0.3 --out runs/scenes
fdch index create scenes.index --run runs/scenes scenes:1000
python scripts/measure_queries.py scenes.index
"""

import json
import sys
from collections.abc import Iterable

import numpy as np

from fdch import PairedSet, Searcher
from fdch.data.pictures.images import Pictures
from fdch.retrieval import combining

SCENES, CASES = 1000, 60
PLACES = ("beach", "meadow", "city", "lake", "mountains")
THINGS = ("tree", "house", "ball", "car", "tent")
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Measurement:
    """Cases of a place and a thing, drawn once, searched for in several ways."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher, self.pairs = searcher, PairedSet.read(f"scenes:{SCENES}")
        names = self.pairs.label_names
        self.rows = {str(name): row for row, name in enumerate(self.pairs.ids)}
        self.has = dict(zip(names, self.pairs.labels.T.astype(bool), strict=True))
        rng = np.random.default_rng(0)
        self.cases = []
        for _ in range(CASES):
            place, thing = str(rng.choice(PLACES)), str(rng.choice(THINGS))
            rows = np.flatnonzero(self.has[place] & ~self.has[thing])
            self.cases.append((place, thing, int(rng.choice(rows))))

    def share(self, ids: Iterable[str], *labels: str) -> float:
        """Give the share of items that have all labels."""
        rows = [self.rows[name] for name in ids]
        return float(
            np.mean([all(self.has[one][row] for one in labels) for row in rows])
        )

    def parts(self) -> tuple[float, ...]:
        """Give the share with place and thing: by picture, by word, by both."""
        assert isinstance(self.pairs.images, Pictures)
        figures = []
        for place, thing, row in self.cases:
            own, image = (
                str(self.pairs.ids[row]),
                np.asarray(self.pairs.images.content(row)),
            )
            ways = (
                self.searcher.by_image(image, k=11),
                self.searcher.by_text(thing, k=11),
                self.searcher.query(thing, image, k=11),
            )
            others = [
                [name for name in found.ids if name != own][:10] for found in ways
            ]
            figures.append([self.share(ids, place, thing) for ids in others])
        return tuple(np.mean(figures, axis=0).round(3).tolist())

    def feedback(self) -> tuple[float, ...]:
        """Give the number of cases, and the share in the next ten: plain, refined."""
        figures = []
        for place, thing, _ in self.cases:
            first = self.searcher.by_text(thing, k=20).ids
            fits = [name for name in first[:10] if self.share([name], place, thing)]
            others = [name for name in first[:10] if name not in fits]
            if fits and others:
                refined = self.searcher.query(thing, like=fits, unlike=others).ids
                ways = first[10:], refined
                figures.append([self.share(ids, place, thing) for ids in ways])
        return len(figures), *np.mean(figures, axis=0).round(3).tolist()

    def avoided(self) -> tuple[float, ...]:
        """Give the share with the avoided thing, and with the place."""
        figures = []
        for place, thing, _ in self.cases:
            ids = self.searcher.query(place, avoid=[thing]).ids
            figures.append([self.share(ids, thing), self.share(ids, place)])
        return tuple(np.mean(figures, axis=0).round(3).tolist())


def main(index: str) -> None:
    """Write all figures as one JSON document."""
    with Searcher(index) as searcher:
        measured = Measurement(searcher)
        plain = [
            measured.share(searcher.by_text(place).ids, thing)
            for place, thing, _ in measured.cases
        ]
        found: dict[str, object] = {
            "by picture, by word, by both": measured.parts(),
            "the thing, by the place alone": round(float(np.mean(plain)), 3),
        }
        for weight in WEIGHTS:
            combining.UNLIKE_WEIGHT = combining.AVOID_WEIGHT = weight
            found[f"weight {weight}"] = {
                "cases, next ten, refined": measured.feedback(),
                "avoided thing, place": measured.avoided(),
            }
    sys.stdout.write(f"{json.dumps(found, indent=2)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
