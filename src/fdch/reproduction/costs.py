"""What the cells cost, and how their codes use their bits: means over seeds."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from fdch.evaluation import CodeHealth
from fdch.evaluation.tables import Cell, Table
from fdch.reproduction.cells import Record
from fdch.reproduction.reproduce import Reproduction

GIGABYTE = 10**9
SHARED = "stage 1 was reused from another cell and is not counted"
RESUMED = "training was interrupted; only its last part is counted"


def cost_table(found: Reproduction) -> Table:
    """Lay out training time, encoding rate and memory by method and length."""
    rows: list[tuple[Cell, ...]] = []
    for method, bits in _list_complete(found):
        records = found.of(method, bits)
        rows.append(
            (
                method,
                bits,
                round(_mean(records, "training_seconds"), 2),
                round(_mean(records, "encoding_seconds"), 2),
                round(_rate(records)),
                _memory(records),
                _remark(records),
            )
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
    return Table(header, tuple(rows))


def health_table(found: Reproduction) -> Table:
    """Lay out how database codes use their bits, by method, length and set."""
    rows: list[tuple[Cell, ...]] = []
    for method, bits in _list_complete(found):
        runs = found.scores(method, bits)
        for name in runs[0].health:
            health = [run.health[name] for run in runs]
            rows.append((method, bits, name, *_health(health)))
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


def _health(health: Sequence[CodeHealth]) -> tuple[Cell, ...]:
    def mean(value: Callable[[CodeHealth], float | None]) -> float | None:
        known = [number for part in health if (number := value(part)) is not None]
        return statistics.fmean(known) if known else None

    return (
        mean(lambda part: part.distinct),
        mean(lambda part: part.largest_share),
        mean(lambda part: statistics.fmean(map(abs, part.balance))),
        mean(lambda part: part.correlation),
        mean(lambda part: part.bit_entropy),
        mean(lambda part: part.code_entropy),
        max(len(part.constant_bits) for part in health),
    )


def _mean(records: Sequence[Record], name: str) -> float:
    return statistics.fmean(_figure(record, name) for record in records)


def _rate(records: Sequence[Record]) -> float:
    seconds = sum(_figure(record, "encoding_seconds") for record in records)
    pairs = sum(_figure(record, "encoded_pairs") for record in records)
    return pairs / max(seconds, 1e-3)


def _memory(records: Sequence[Record]) -> float | None:
    peaks = [record.figures.get("peak_memory_bytes") for record in records]
    known = [peak for peak in peaks if isinstance(peak, int)]
    return round(max(known) / GIGABYTE, 2) if known else None


def _remark(records: Sequence[Record]) -> str:
    remarks = {
        SHARED: any(record.figures.get("stage_one_from") for record in records),
        RESUMED: any(record.figures.get("resumed") for record in records),
    }
    return "; ".join(text for text, holds in remarks.items() if holds)


def _figure(record: Record, name: str) -> float:
    value: Any = record.figures.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
