"""`fdch cache`: results kept between runs to save time."""

from fdch.cli.shared.groups import LazyGroup

command = LazyGroup(
    "cache",
    help="Manage cached features, pixels and exports.",
    module=__name__,
    names=("clear",),
    example="fdch cache clear",
)
