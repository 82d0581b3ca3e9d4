"""`fdch index`: codes of pairs that can be searched."""

from fdch.cli.shared.groups import LazyGroup

command = LazyGroup(
    "index",
    help="Make an index of pairs, change it and look after it.",
    module=__name__,
    names=(
        *("create", "add", "remove", "remap", "info", "verify", "repair", "backup"),
        *("export", "rebuild", "compact", "duplicates"),
    ),
    example="fdch index create scenes.index --run runs/first scenes:300",
)
