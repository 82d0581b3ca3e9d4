"""Index photos on a Ray cluster of two nodes, and in one process, and compare.

From the repository's root, with a folder for what is made:

    python -m scripts.measure_ray RUN DATA FOLDER [CACHE]

Both begin with empty caches, so that every picture is decoded, or take features from
the folder CACHE. The nodes are on this machine, one core each; when half of the pairs
are indexed, a worker is killed. Writes one JSON document to standard output: times,
and the processor's time of the command alone, without workers, which does not grow
with what else the machine does.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.ray_cluster import kill_one_worker, two_nodes

from fdch.data.pairs import PairedSet
from fdch.errors import FdchError
from fdch.retrieval.index import Index


def main(run: str, data: str, folder: str, cache: str = "") -> None:
    """Measure, and stop where the indexes differ."""
    place = Path(folder)
    place.mkdir(parents=True)
    ids = PairedSet.read(data).ids.tolist()
    with two_nodes(Path(cache or place / "ray-cache")) as environment:
        words = ["--engine", "ray"]
        shared = measure(run, data, place / "ray.index", environment, words, len(ids))
    local = os.environ | {"FDCH_CACHE": cache or str(place / "local-cache")}
    alone = measure(run, data, place / "local.index", local)
    with Index.open(place / "ray.index") as one, Index.open(place / "local.index") as a:
        is_equal = one.store.fetch(ids).codes == a.store.fetch(ids).codes
        is_equal = is_equal and len(one) == len(a) == len(ids)
        figures = {
            "pairs": len(ids),
            "items": {"ray": len(one), "local": len(a)},
            "ids_and_codes_equal": is_equal,
            "ray": shared,
            "local": alone,
            "load": os.getloadavg(),
        }
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    if not is_equal:
        sys.exit("the indexes differ")


def measure(
    run: str,
    data: str,
    index: Path,
    environment: dict[str, str],
    words: Any = (),
    kill_after: int = 0,
) -> dict[str, float]:
    """Time `fdch index create`; a worker is killed at half of so many pairs."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "fdch", "index", "create", str(index)]
    process = subprocess.Popen(
        [*command, "--run", run, data, "--json", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    if kill_after:
        while process.poll() is None and count(index) < kill_after // 2:
            time.sleep(1)
        if not kill_one_worker(environment, process):
            sys.exit("no worker could be killed")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.wait():
        sys.exit("the index was not made")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 1), "processor_seconds": round(used, 1)}


def count(index: Path) -> int:
    """Count the items of an index that is being written."""
    try:
        with Index.open(index) as opened:
            return len(opened)
    except FdchError:
        return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
