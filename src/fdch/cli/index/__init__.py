"""`fdch index`: codes of pairs that can be searched."""

from fdch.cli.shared.groups import LazyGroup
from fdch.cli.shared.options import example

command = LazyGroup(
    "index",
    help="Make an index of pairs, change it and look after it.",
    epilog=example("fdch index create scenes.index --run runs/first scenes:300"),
    modules="fdch.cli.index.",
    summaries={
        "create": "Create an index for a run's codes, and fill it.",
        "add": "Encode pairs and add them to an index.",
        "remove": "Remove items from an index by their ids.",
        "remap": "Find the pictures of an index that moved to another folder.",
        "info": "Show what an index holds.",
        "verify": "Read a whole index and find what is damaged.",
        "repair": "Keep all that is intact of a damaged index.",
        "backup": "Copy an index while others use it.",
        "export": "Write all items as lines of JSON, with their codes.",
        "rebuild": "Encode all items again with another run.",
        "compact": "Reclaim space and make searching faster.",
        "duplicates": "Find items that are nearly the same.",
    },
)
