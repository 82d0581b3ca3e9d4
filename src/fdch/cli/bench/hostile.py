"""`fdch bench hostile`: how soon the service rejects hostile requests."""

from typing import Any

from fdch.cli.bench._running import run_benchmark
from fdch.cli.serve import require_packages
from fdch.cli.shared import options
from fdch.cli.shared.groups import Failure
from fdch.cli.shared.options import COUNT, option


@options.command("hostile", "fdch bench hostile --repeats 1")
@options.repeats(3, "Turns of all requests.")
@option("--connections", "Slow ones from one address.", COUNT, default=1200)
@options.json
def command(**given: Any) -> None:
    """Time how the service rejects hostile requests.

    'fdch serve' runs in its own process on a small index with its default limits,
    except that it waits only half a second for bodies. It gets bombs, broken files,
    wrong types, tricks with paths and headers, slow bodies and wrong tokens, one
    after the other, each followed by a search. Times run from connecting to the
    last byte of the reply and include waiting for slow bodies. Then one client
    searches while many slow connections come from another loopback address. The
    exit code is 1 if a status is wrong, a request takes more than a second, a
    search fails, or less than 99 % of the searches in that crowd are answered.
    """
    require_packages()
    from fdch.bench.hostile.refusals import refusal_benchmark

    require_refused(run_benchmark(refusal_benchmark, **given))


def require_refused(result: dict[str, Any]) -> None:
    """Fail if a request was not rejected as it should be."""
    problems = [
        f"{what}: {', '.join(result[key])}"
        for key, what in (("wrong", "wrong status"), ("slow", "over a second"))
        if result[key]
    ]
    if not result["crowd"]["is_enough"]:
        problems.append("searches beside slow connections were not answered")
    if not result["goes_on"]:
        problems.append("searches failed, or found something else afterwards")
    if problems:
        raise Failure(
            f"hostile requests were not handled correctly; {'; '.join(problems)}."
        )
