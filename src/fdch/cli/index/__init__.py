"""`fdch index`: codes of pairs that can be searched."""

from fdch.cli.shared.groups import LazyGroup

command = LazyGroup(
    "index",
    help="Create, change and maintain an index.",
    module=__name__,
    names=(
        *("create", "add", "remove", "remap", "info", "verify", "repair", "backup"),
        *("export", "rebuild", "compact", "duplicates"),
    ),
    example="fdch index create scenes.index --run runs/first scenes:300",
)
