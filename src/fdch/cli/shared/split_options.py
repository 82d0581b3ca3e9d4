"""Options for the sizes of a split."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fdch.data.splits import SplitSizes

_OPTIONS = (
    click.option(
        "--query-pairs", type=int, help="Queries to draw, with --train-pairs."
    ),
    click.option(
        "--train-pairs", type=int, help="Training pairs, validation included."
    ),
    click.option(
        "--validation-pairs",
        type=int,
        help="How many of these are held out; a tenth if not given.",
    ),
)


def size_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def split_sizes(
    query_pairs: int | None, train_pairs: int | None, validation_pairs: int | None
) -> "SplitSizes | None":
    """Give the sizes that the options state; None for the usual ones."""
    if (query_pairs, train_pairs, validation_pairs) == (None, None, None):
        return None
    if query_pairs is None or train_pairs is None:
        raise click.UsageError("give --query-pairs and --train-pairs together.")
    from fdch.data.splits import SplitSizes

    return SplitSizes(query_pairs, train_pairs, validation_pairs)
