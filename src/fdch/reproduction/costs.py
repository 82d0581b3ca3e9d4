"""Costs of cells, and how their codes use their bits: means over seeds."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from fdch.evaluation import CodeHealth
from fdch.evaluation.tables import Cell, Table, mean_known
from fdch.reproduction.reproduce import Reproduction

GIGABYTE = 10**9
SHARED = "stage 1 was reused from another cell and is not counted"
RESUMED = "training was interrupted; only its last part is counted"


def cost_table(found: Reproduction) -> Table:
    """Lay out training time, encoding rate and memory by method and length."""
    rows = tuple(
        (method, bits, *_costs([record.figures for record in found.of(method, bits)]))
        for method, bits in _list_complete(found)
    )
    header = (
        "method",
        "bits",
        "training_seconds",
        "encoding_seconds",
        "encoded_pairs_per_second",
        "peak_memory_gb",
        "remark",
    )
    return Table(header, rows)


def health_table(found: Reproduction) -> Table:
    """Lay out how database codes use their bits, by method, length and set."""
    rows: list[tuple[Cell, ...]] = []
    for method, bits in _list_complete(found):
        runs = found.scores(method, bits)
        for name in runs[0].health:
            rows.append((method, bits, name, *_health([r.health[name] for r in runs])))
    header = (
        "method",
        "bits",
        "codes",
        "distinct",
        "largest_share",
        "imbalance",
        "correlation",
        "bit_entropy",
        "code_entropy",
        "constant_bits",
    )
    return Table(header, tuple(rows))


def warnings_of(found: Reproduction) -> list[str]:
    """List what methods warned of, each once, with the method's name."""
    listed = (
        f"{cell.method}: {text}"
        for cell, record in found.records.items()
        for text in record.figures.get("warnings", ())
    )
    return list(dict.fromkeys(listed))


def _list_complete(found: Reproduction) -> list[tuple[str, int]]:
    """List methods and lengths that have all their seeds, in the recipes' order."""
    keys = dict.fromkeys((cell.method, cell.bits) for cell in found.records)
    order = list(dict.fromkeys(method for method, _ in keys))
    ordered = sorted(keys, key=lambda key: (order.index(key[0]), key[1]))
    return [key for key in ordered if found.of(*key)]


def _costs(figures: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    """Return mean times, the rate of encoding, the largest peak, and remarks."""

    def numbers(name: str) -> list[float]:
        values = [each.get(name) for each in figures]
        return [v if isinstance(v, int | float) else 0.0 for v in values]

    training, encoding = numbers("training_seconds"), numbers("encoding_seconds")
    memory = max(numbers("peak_memory_bytes"))
    remarks = {
        SHARED: any(each.get("stage_one_from") for each in figures),
        RESUMED: any(each.get("resumed") for each in figures),
    }
    return (
        round(statistics.fmean(training), 2),
        round(statistics.fmean(encoding), 2),
        round(sum(numbers("encoded_pairs")) / max(sum(encoding), 1e-3)),
        round(memory / GIGABYTE, 2) if memory else None,
        "; ".join(text for text, holds in remarks.items() if holds),
    )


def _health(health: Sequence[CodeHealth]) -> tuple[Cell, ...]:
    return (
        statistics.fmean(part.distinct for part in health),
        statistics.fmean(part.largest_share for part in health),
        statistics.fmean(statistics.fmean(map(abs, p.balance)) for p in health),
        mean_known(part.correlation for part in health),
        statistics.fmean(part.bit_entropy for part in health),
        statistics.fmean(part.code_entropy for part in health),
        max(len(part.constant_bits) for part in health),
    )
