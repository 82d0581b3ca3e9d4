"""`fdch bench startup`: how long the program takes to start."""

from fdch.cli.bench._figures import show_three
from fdch.cli.shared import options
from fdch.cli.shared.output import count, lay_out, report


@options.command("startup", "fdch bench startup --repeats 2")
@options.count("--repeats", default=5, help="Turns of each side.")
@options.json
def command(as_json: bool, repeats: int) -> None:
    """Time how long Python, the import and the help take to start."""
    from fdch.bench.startup import startup_benchmark

    result = startup_benchmark(repeats)
    rows = ((name, *show_three(part)) for name, part in result["seconds"].items())
    note = f"seconds, each in a process of its own; {count(repeats, 'turn')} each"
    report(result, as_json, lay_out(("", "median", "least", "most"), rows, (note,)))
