"""`fdch bench soak`: the service under mixed load for a long time."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.serve import require_packages
from fdch.cli.shared import options
from fdch.cli.shared.groups import Failure
from fdch.cli.shared.options import COUNT, POSITIVE, option
from fdch.cli.shared.output import count

_SHOWN = 3
PROBLEMS = {
    "wrong": "wrong answers",
    "failed": "failed requests",
    "lost": "items that differ from what was acknowledged",
    "damage": "damage",
}


@options.command("soak", "fdch bench soak --minutes 0.1 --items 1000")
@option("--minutes", "How long.", POSITIVE, default=60.0)
@option("--rate", "Requests a second, of all clients.", COUNT, default=20)
@option("--items", "Items in the index at first.", COUNT, default=20_000)
@options.seed("Of the load.")
@options.json
def command(**given: Any) -> None:
    """Watch the service under mixed load for an hour.

    'fdch serve' runs in its own process. Four clients search by text, picture and
    item, count values, put texts and pictures, remove, and send hostile requests;
    each knows its own items and compares every answer about them with a search of
    its own. At the end the index is compared with all that was acknowledged, and
    verified. The exit code is 1 if an answer is wrong, a request fails, an item is
    lost or damaged, or memory grows by more than a fifth after the first quarter.
    """
    require_packages()
    from fdch.bench.soak.campaign import soak_benchmark

    require_sound(run_benchmark(soak_benchmark, **given))


def require_sound(result: dict[str, Any]) -> None:
    """Fail if anything was wrong, failed, lost or damaged, or memory grew."""
    problems = [
        f"{count(len(result[key]), what, what)}: {'; '.join(result[key][:_SHOWN])}"
        for key, what in PROBLEMS.items()
        if result[key]
    ]
    if not result["memory"]["is_bounded"]:
        problems.append("memory grew")
    if result["exit_code"]:
        problems.append(f"the service ended with exit code {result['exit_code']}")
    if problems:
        raise Failure(f"the soak test failed; {'. '.join(problems)}.")
