"""Reproductions to make tables and figures from, without training anything."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.four_classes import write_features

from fdch import methods
from fdch.codes import binarize
from fdch.data.split_drawing import SplitSizes
from fdch.evaluation import Coded, CodedPairs, Protocol, score_galleries
from fdch.methods._base import HashMethod
from fdch.reproduction.cell_records import Record
from fdch.reproduction.recipe import choose
from fdch.reproduction.reproduce import Reproduction
from fdch.reproduction.study import Study, cells_of, settings_by_method


def coded(labels, bits, noise, random, unified):
    """Codes that follow the labels, with some bits turned."""
    directions = np.random.default_rng(7).normal(size=(labels.shape[1], bits))

    def codes(share):
        outputs = labels @ directions
        outputs = outputs + share * noise * random.normal(size=outputs.shape)
        return Coded(binarize(outputs), labels)

    rows = np.arange(len(labels))
    both = codes(0.6) if unified else None
    return CodedPairs(codes(1), codes(1.3), both, (rows, rows))


def scored(pairs, cell, place, queries=40):
    """Scores as a cell would have; methods later in the list do better."""
    random = np.random.default_rng([cell.bits, cell.seed, place])
    noise = 4 - 0.3 * place
    unified = methods.load(cell.method).about.unified
    query = coded(pairs.labels[:queries], cell.bits, noise, random, unified)
    database = coded(pairs.labels[queries:], cell.bits, noise, random, unified)
    protocol = Protocol(
        data=pairs.fingerprint,
        split=f"split of seed {cell.seed}",
        queries=queries,
        database=len(pairs) - queries,
        train=90,
        validation=10,
        seed=cell.seed,
    )
    return score_galleries(cell.method, query, database, protocol)


FIGURES: dict[str, Any] = {
    "training_seconds": 1.5,
    "encoding_seconds": 0.5,
    "encoded_pairs": 200,
    "peak_memory_bytes": 5 * 10**8,
    "resumed": False,
    "stage_one_from": None,
    "warnings": [],
}


def imagine(pairs, recipes, seeds=(0, 1), failed=(), out=Path("somewhere")):
    """Give a reproduction in which all cells ran, except those that failed."""
    cells = cells_of(recipes, seeds)
    order = list(dict.fromkeys(cell.method for cell in cells))
    records = {}
    for cell in cells:
        if cell in failed:
            records[cell] = Record("f", "failed", reason="it takes 99 GB & more")
        else:
            scores = scored(pairs, cell, order.index(cell.method))
            records[cell] = Record("f", "done", figures=FIGURES, scores=scores)
    study = Study("features.npz", out)
    return Reproduction(study, tuple(recipes), tuple(seeds), pairs, records)


@pytest.fixture(scope="session")
def pairs(factor_pairs):
    return factor_pairs(200)


@pytest.fixture(scope="session")
def benchmark_pairs(pairs):
    """Pairs that pass for the paper's data."""
    return replace(pairs, name="mirflickr25k", benchmark=SplitSizes(40, 100))


@pytest.fixture(scope="session")
def imagined():
    return imagine


@pytest.fixture(scope="session")
def few(pairs):
    """Both tables and figures, with three methods and two lengths."""
    return imagine(pairs, choose("all", [16, 32], ["cmfh", "scm_seq", "fdch"]))


TINY = (
    "fdch*.stage_one_epochs=2 fdch*.stage_two_epochs=1 fdch*.text_hidden=16 "
    "fdch*.fusion_width=16 fdch*.fusion_hidden=16 fdch*.batch_size=16"
)


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Ready features of four classes that are easy to separate, in a file."""
    return str(write_features(tmp_path_factory.mktemp("data") / "features.npz"))


@pytest.fixture
def study(source, tmp_path):
    """A study whose cells take no time."""
    names = ["cmfh", "scm_orth", "scm_seq", "fdch", "fdch_i", "fdch_ii"]
    settings = settings_by_method(TINY.split(), names)
    return Study(source, tmp_path / "out", settings)


@pytest.fixture
def counted(monkeypatch):
    """Count the fits of each method by name."""
    fits: Counter[str] = Counter()
    fit = HashMethod.fit

    def counting(self, *args, **more):
        fits[f"{self.name}-{self.bits}-{self.seed}"] += 1
        return fit(self, *args, **more)

    monkeypatch.setattr(HashMethod, "fit", counting)
    return fits
