"""`fdch cache`: what is kept between runs to save time."""

from fdch.cli.shared.groups import LazyGroup

command = LazyGroup(
    "cache",
    help="Look after what is kept between runs to save time.",
    module=__name__,
    names=("clear",),
    example="fdch cache clear",
)
