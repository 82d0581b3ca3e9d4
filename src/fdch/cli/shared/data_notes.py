"""What a user should know of the data that a command works on."""

from collections.abc import Sequence

from fdch.cli.shared.output import NAMED, count, note, plain
from fdch.data.pairs import PairedSet, Skipped
from fdch.data.splits import Split


def tell_data(pairs: PairedSet) -> None:
    """Print what the reader had to say, and the rows left out by name."""
    for text in pairs.notes:
        note(f"note: {text}")
    tell_skipped(pairs.skipped)


def tell_skipped(skipped: Sequence[Skipped]) -> None:
    """Print the rows left out, the first few by name."""
    if not skipped:
        return
    note(f"skipped {count(len(skipped), 'broken row')}:")
    for row in skipped[:NAMED]:
        note(f"  {plain(row.name, 60)}: {plain(row.reason, 300)}")
    if len(skipped) > NAMED:
        note(f"  and {len(skipped) - NAMED:,} more")


def tell_parts(pairs: PairedSet, split: Split) -> None:
    """Print how many pairs are for what."""
    tell_data(pairs)
    sizes = (
        f"{len(split.train):,} for training",
        f"{len(split.validation):,} for validation",
        count(len(split.query), "query", "queries"),
        f"{len(pairs) - len(split.query):,} in the database",
    )
    note(f"{pairs.name}: {count(len(pairs), 'pair')}; {', '.join(sizes)}")
    if split.groups:
        same = {"both": "pictures or texts"}.get(split.groups, split.groups)
        note(f"note: pairs with the same {same} are kept in one part")
