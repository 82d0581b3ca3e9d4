"""Shared parts of the readers of benchmark downloads."""

from pathlib import Path

from fdch.data.pairs import SKIP_BROKEN, Broken, Skipped
from fdch.data.rows import unreadable
from fdch.data.split_drawing import SplitSizes
from fdch.errors import BrokenRow, DataError

SIZES = SplitSizes(query=2_000, train=5_000, validation=500)  # as in the literature
MIN_FOR_SIZES = 10_000
_NAMED = 5


def read_lines(path: Path, most: int = 2**20) -> list[str]:
    """Read the lines of a UTF-8 file, without blank ones and outer spaces."""
    try:
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > most:
        raise DataError(f"'{path}' is longer than the {most:,} bytes expected at most.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"'{path}' is not UTF-8 text: byte {error.start} is "
            f"0x{error.object[error.start]:02x}."
        ) from None
    # not splitlines(): it also splits at characters that belong to a tag
    lines = (line.strip() for line in text.replace("\r", "\n").split("\n"))
    return [line for line in lines if line]


def refuse_or_skip(
    rows: list[Skipped], broken: Broken, remedy: str
) -> tuple[Skipped, ...]:
    """Refuse broken rows, naming the first few and a remedy, or return them all.

    >>> refuse_or_skip([Skipped("im7", "no photo 'im7.jpg'")], "skip", "look again")
    (Skipped(name='im7', reason="no photo 'im7.jpg'"),)
    """
    if not rows or broken == "skip":
        return tuple(rows)
    named = "; ".join(f"{row.name}: {row.reason}" for row in rows[:_NAMED])
    more = f"; and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    raise BrokenRow(
        f"{len(rows):,} rows cannot be read ({named}{more}); {remedy}, or skip "
        f"broken rows ({SKIP_BROKEN})."
    )


def choose_sizes(usable: int, what: str) -> tuple[SplitSizes | None, list[str]]:
    """Return the literature's split sizes, or None and a note for too few pairs."""
    if usable >= MIN_FOR_SIZES:
        return SIZES, []
    return None, [
        f"fewer than {MIN_FOR_SIZES:,} {what}: splits are drawn by shares, not with "
        f"the benchmark's {SIZES.query:,} queries and {SIZES.train:,} training pairs."
    ]


def compare_counts(what: str, count: int, expected: int) -> list[str]:
    """Return a note if a count differs from the literature's."""
    if count == expected:
        return []
    return [f"{what}: {count:,}; the literature has {expected:,}."]
