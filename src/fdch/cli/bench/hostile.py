"""`fdch bench hostile`: how soon the service rejects hostile requests."""

from typing import TYPE_CHECKING, Any

import click

from fdch.cli.shared.groups import Failure
from fdch.cli.shared.options import example, json_option
from fdch.cli.shared.output import count, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter
from fdch.cli.shared.values import count_option

if TYPE_CHECKING:
    from fdch.evaluation.tables import Table


@click.command("hostile", epilog=example("fdch bench hostile --repeats 1"))
@count_option("--repeats", default=3, help="Turns of all requests.")
@json_option
def command(repeats: int, as_json: bool) -> None:
    """Time how the service rejects hostile requests.

    'fdch serve' runs in its own process on a small index with its default limits,
    except that it waits only half a second for bodies. It gets bombs, broken files,
    wrong types, tricks with paths and headers, slow bodies and wrong tokens, one
    after the other, each followed by a search. Times run from connecting to the
    last byte of the reply and include waiting for slow bodies. The exit code is 1
    if a status is wrong, a request takes more than a second, or a search fails.
    """
    from fdch.cli.serve import require_packages

    require_packages()
    from fdch.bench.refusals import refusal_benchmark

    with ProgressPrinter() as progress:
        result = refusal_benchmark(repeats, progress)
    if as_json:
        say_json(result)
    else:
        say(table(result))
    require_refused(result)


def table(result: dict[str, Any]) -> "Table":
    """Lay the result out for a terminal, the slowest first."""
    from fdch.evaluation.tables import Table

    requests = sorted(result["requests"], key=lambda each: -each["milliseconds"])
    rows = tuple(
        (
            each["name"],
            "/".join(map(str, each["statuses"])),
            str(each["expected"]),
            f"{each['milliseconds']:.1f}",
        )
        for each in requests
    )
    right = result["right_requests"]
    held = " and ".join(f"{each / 2**20:,.0f}" for each in result["memory_bytes"])
    slowest = requests[0]
    notes = (
        f"{count(len(rows), 'request')}, {count(result['repeats'], 'time')} each: "
        f"{len(result['wrong'])} with a wrong status, {len(result['slow'])} over a "
        f"second; the slowest in {slowest['milliseconds']:.0f} ms: {slowest['name']}",
        f"bodies are waited for {1000 * result['body_seconds']:.0f} ms",
        f"{count(right['sent'], 'search', 'searches')} in between: {right['failed']} "
        f"failed, the slowest in {right['milliseconds']:.0f} ms",
        f"memory before and after, in MiB: {held}",
        "the service goes on" if result["goes_on"] else "the service does NOT go on",
    )
    return Table(("request", "status", "due", "ms"), rows, notes)


def require_refused(result: dict[str, Any]) -> None:
    """Fail if a request was not rejected as it should be."""
    problems = [
        f"{what}: {', '.join(result[key])}"
        for key, what in (("wrong", "wrong status"), ("slow", "over a second"))
        if result[key]
    ]
    if not result["goes_on"]:
        problems.append("searches failed, or found something else afterwards")
    if problems:
        raise Failure(f"hostile requests did harm; {'; '.join(problems)}.")
