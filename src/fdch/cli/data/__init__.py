"""`fdch data`: looking at data before training."""

from fdch.cli.shared.groups import LazyGroup

command = LazyGroup(
    "data",
    help="Look at data before training.",
    module=__name__,
    names=("inspect",),
    example="fdch data inspect scenes:100 --page samples.html",
)
