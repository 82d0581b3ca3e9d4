"""`fdch bench`: how fast and how good things are."""

from fdch.cli.shared.groups import LazyGroup

command = LazyGroup(
    "bench",
    help="Measure how fast and how good fdch is.\n\n"
    "'ours' is fdch, 'peer' is what it is compared with, and 'ratio' is "
    "how many times faster fdch is; a range in brackets is that of all turns.",
    module=__name__,
    names=(
        *("evaluate", "defaults", "train", "scale", "rerank", "words", "index"),
        *("facets", "search", "pictures", "startup", "encode", "serve", "hostile"),
        *("soak", "networks"),
    ),
    example="fdch bench evaluate --queries 100 --database 5000 --repeats 1",
)
