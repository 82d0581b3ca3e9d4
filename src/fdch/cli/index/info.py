"""`fdch index info`: what an index holds."""

from contextlib import closing

from fdch.cli.shared import options
from fdch.cli.shared.column_lines import column_lines
from fdch.cli.shared.options import option
from fdch.cli.shared.output import plain, report
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("info", "fdch index info scenes.index")
@options.index
@option("--pictures", "Count the pictures that are found and missing.", bool)
@options.json
def command(index: str, pictures: bool, as_json: bool) -> None:
    """Show what an index holds.

    Items, length of the codes, model, bytes on disk, and the columns that
    conditions of 'fdch search' can use: their types, examples, and cells that do
    not fit.
    """
    from fdch.index.opening import open_store

    with closing(open_store(index)) as store:
        known, held = {"index": index, **store.describe()}, store.contents()
    if pictures:
        from fdch.retrieval.picture_paths import count_pictures

        with ProgressPrinter() as progress:
            paths = count_pictures(index, progress)
        known["pictures"] = {"found": paths.found, "missing": paths.missing}
    width = max(map(len, known)) + 2
    lines = (
        f"{name:{width}}{plain(show_value(value), 500)}"
        for name, value in known.items()
    )
    types = {name: facts.to_json() for name, facts in held.columns.items()}
    document = known | {"types": types, "uncounted": held.uncounted}
    report(document, as_json, *lines, *column_lines(held.columns))


def show_value(value: object) -> str:
    """Lay a plain value out for reading.

    >>> show_value({"rows": 1200, "kind": "folder"})
    'rows 1,200, kind folder'
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {show_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(show_value, value))
    return str(value)
