"""`fdch data`: what there is to learn from."""

from fdch.cli.groups import LazyGroup

command = LazyGroup(
    "data",
    help="Look at data before training.",
    modules="fdch.cli.data_",
    summaries={"inspect": "Count pairs, labels and words; find broken files."},
)
