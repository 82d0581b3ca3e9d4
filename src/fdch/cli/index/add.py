"""`fdch index add`: pairs or ready codes into an index, or types of its columns."""

from contextlib import closing
from pathlib import Path

import click

from fdch.cli.index._added import (
    describe_added,
    explain_interruption,
    report_added,
    require_some,
)
from fdch.cli.shared import options
from fdch.cli.shared.column_lines import column_lines
from fdch.cli.shared.output import note, plain, report
from fdch.cli.shared.progress_lines import show_progress


@options.command("add", "fdch index add scenes.index scenes:320")
@options.index
@click.argument("data", type=options.DATA, required=False)
@options.layout
@options.remember_broken
@options.types
@options.engine
@options.device
@options.json
def command(
    index: str,
    data: str | None,
    layout: "options.Layout",
    broken: "options.Broken | None",
    types: "tuple[tuple[str, options.ColumnType], ...]",
    engine: "options.EngineName",
    device: str,
    as_json: bool,
) -> None:
    """Encode pairs and add them to an index.

    DATA is what 'fdch train' takes, or a file of codes by 'fdch encode'. A row
    whose id is known replaces that item; from a file of codes, only the item's
    code. A row with only a picture or only a text is joined with the other half if
    the index has it. Without an id column, rows are named by their numbers, and
    pictures of a folder by their paths in it; a row is refused if another item has
    its name. What was added is on disk after every 128 rows, or 8,192 of ready
    features or codes. Without DATA, --type changes how columns are compared.
    """
    if data is None:
        _change_types(index, dict(types), as_json)
        return
    from fdch.index.column_types import require_typed_columns
    from fdch.retrieval.index import Index
    from fdch.runs.code_files import holds_codes
    from fdch.runs.engines import open_engine
    from fdch.runs.preparation import complete_reading, read_pairs

    pairs = None
    with (
        show_progress(device) as context,
        Index.open(index, writable=True, context=context) as opened,
    ):
        with explain_interruption(opened):
            if holds_codes(Path(data)):
                if layout.limit is not None:
                    message = "a file of codes is added whole; leave out --limit."
                    raise click.UsageError(message)
                require_typed_columns(dict(types), opened.store.types())
                opened.set_types(dict(types))
                added = opened.add_encoded(data)
            else:
                layout, broken = complete_reading(
                    opened.run.facts, data, layout, broken
                )
                pairs = read_pairs(data, broken, context, engine, layout)
                with open_engine(engine, opened.run, broken, context) as encoder:
                    added = opened.add(
                        pairs,
                        broken=broken,
                        progress=context.progress,
                        engine=encoder,
                        types=dict(types),
                    )
                    require_some(pairs, added)
        document = describe_added(index, opened, added)
    report_added(document, added, pairs, as_json)


def _change_types(
    index: str, types: "dict[str, options.ColumnType]", as_json: bool
) -> None:
    """Choose how columns of an index are compared, and print what they hold."""
    from fdch.index.column_types import require_typed_columns
    from fdch.index.opening import open_store

    if not types:
        raise click.UsageError("Missing argument 'DATA'; only --type goes without it.")
    with closing(open_store(index, writable=True)) as store:
        before = store.types()
        require_typed_columns(types, before)
        store.set_types(types)
        held = store.contents().columns
    columns = {name: held[name] for name in types if name in held}
    report(
        {
            "index": index,
            "before": {name: before[name] for name in types},
            "types": {name: facts.to_json() for name, facts in columns.items()},
        },
        as_json,
        *(
            f"type of '{plain(name, 60)}': {type}, was {before[name]}"
            for name, type in types.items()
        ),
        *column_lines(columns),
    )
    if any(facts.type == "number" and facts.misfits for facts in columns.values()):
        note(
            "note: stored cells stay as they are. Add their data again with the same "
            "--type to read '12,50', or prices in one currency, as numbers; write "
            "others as 12.5."
        )
