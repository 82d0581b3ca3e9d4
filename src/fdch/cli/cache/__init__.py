"""`fdch cache`: what is kept between runs to save time."""

from fdch.cli.shared.groups import LazyGroup
from fdch.cli.shared.options import example

command = LazyGroup(
    "cache",
    help="Look after what is kept between runs to save time.",
    epilog=example("fdch cache clear"),
    modules="fdch.cli.cache.",
    summaries={"clear": "Delete cached features, pixels and exports."},
)
