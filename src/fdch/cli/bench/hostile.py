"""`fdch bench hostile`: how soon the service rejects hostile requests."""

from typing import Any

from fdch.cli.bench._figures import show_mebibytes
from fdch.cli.serve import require_packages
from fdch.cli.shared import options
from fdch.cli.shared.groups import Failure
from fdch.cli.shared.output import count, lay_out, report
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("hostile", "fdch bench hostile --repeats 1")
@options.count("--repeats", default=3, help="Turns of all requests.")
@options.count("--connections", default=1200, help="Slow ones from one address.")
@options.json
def command(repeats: int, connections: int, as_json: bool) -> None:
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

    with ProgressPrinter() as progress:
        result = refusal_benchmark(repeats, connections, progress)
    report(result, as_json, table(result))
    require_refused(result)


def table(result: dict[str, Any]) -> str:
    """Lay the result out for a terminal, the slowest first."""
    requests = sorted(result["requests"], key=lambda each: -each["milliseconds"])
    rows = [
        (
            each["name"],
            "/".join(map(str, each["statuses"])),
            str(each["expected"]),
            f"{each['milliseconds']:.1f}",
        )
        for each in requests
    ]
    crowd = result["crowd"]
    right, slowest = result["right_requests"], requests[0]
    notes = (
        f"{count(len(rows), 'request')}, {count(result['repeats'], 'time')} each: "
        f"{len(result['wrong'])} with a wrong status, {len(result['slow'])} over a "
        f"second; the slowest in {slowest['milliseconds']:.0f} ms: {slowest['name']}",
        f"bodies are waited for {1000 * result['body_seconds']:.0f} ms",
        f"{count(right['sent'], 'search', 'searches')} in between: {right['failed']} "
        f"failed, the slowest in {right['milliseconds']:.0f} ms",
        "memory before and after, in MiB: "
        f"{' and '.join(show_mebibytes(*result['memory_bytes']))}",
        f"beside {crowd['connections']:,} slow connections from one address: "
        f"{crowd['answered']:,} of {crowd['sent']:,} searches answered "
        f"({100 * crowd['share']:.1f} %), p50 {crowd['milliseconds']['p50']:.0f} ms, "
        f"p99 {crowd['milliseconds']['p99']:.0f} ms",
        f"the service {'goes on' if result['goes_on'] else 'does NOT go on'}",
    )
    return lay_out(("request", "status", "due", "ms"), rows, notes)


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
        raise Failure(f"hostile requests did harm; {'; '.join(problems)}.")
