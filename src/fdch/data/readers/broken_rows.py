"""What becomes of rows that cannot be read, alike for all dataset readers."""

from fdch.data.pairs import Broken, Skipped
from fdch.errors import BrokenRow

_NAMED = 5


def settle(rows: list[Skipped], broken: Broken, remedy: str) -> tuple[Skipped, ...]:
    """Refuse broken rows, naming the first few, or give them to be listed.

    Args:
        rows: What cannot be read, and why.
        broken: Whether to refuse or to skip.
        remedy: What the user may do about it, such as "unpack it again".

    >>> settle([Skipped("im7", "no photo 'im7.jpg'")], "skip", "unpack it again")
    (Skipped(name='im7', reason="no photo 'im7.jpg'"),)
    """
    if not rows or broken == "skip":
        return tuple(rows)
    named = "; ".join(f"{row.name}: {row.reason}" for row in rows[:_NAMED])
    more = f"; and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    raise BrokenRow(
        f"{len(rows):,} rows cannot be read ({named}{more}); {remedy}, or skip "
        "broken rows (--broken skip)."
    )
