"""`fdch data`: what there is to learn from."""

from fdch.cli.shared.groups import LazyGroup
from fdch.cli.shared.options import example

command = LazyGroup(
    "data",
    help="Look at data before training.",
    epilog=example("fdch data inspect scenes:100 --page samples.html"),
    modules="fdch.cli.data.",
    summaries={"inspect": "Count pairs, labels, words and cells; find broken files."},
)
