"""`fdch bench`: how fast and how good things are."""

from fdch.cli.shared.groups import LazyGroup
from fdch.cli.shared.options import example

command = LazyGroup(
    "bench",
    help="Measure how fast and how good fdch is.\n\n"
    "In the tables, 'ours' is fdch, 'peer' is what it is compared with, and 'ratio' is "
    "how many times faster fdch is; a range in brackets is that of all turns.",
    epilog=example("fdch bench evaluate --queries 100 --database 5000 --repeats 1"),
    modules="fdch.cli.bench.",
    summaries={
        "evaluate": "Time the evaluation beside a loop of sorts.",
        "defaults": "Compare settings of a method on held-out pairs.",
        "train": "Time the training of FDCH beside a plain PyTorch loop.",
        "scale": "Measure the cost of an epoch against the number of pairs.",
        "rerank": "Measure what ordering candidates adds, and what it costs.",
        "words": "Measure what matching words adds to codes, and what it costs.",
        "index": "Measure an index folder: making, opening, searching, filtering.",
        "facets": "Measure counts by value of items that fulfil filters.",
        "search": "Time exact search beside FAISS.",
        "pictures": "Time picture files to features, beside a plain loop.",
        "startup": "Time how long Python, the import and the help take to start.",
        "encode": "Time the encoding of one text, one picture and many pictures.",
        "serve": "Time the service beside FAISS behind FastAPI.",
        "hostile": "Time how the service rejects hostile requests.",
        "soak": "Watch the service under mixed load for an hour.",
        "networks": "Time our layers beside torch's own.",
    },
)
