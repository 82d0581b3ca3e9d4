"""`fdch index add`: pairs or ready codes into an index."""

from pathlib import Path

import click

from fdch.cli.index._added import describe_added, explain_interruption, report_added
from fdch.cli.shared import options
from fdch.cli.shared.progress_lines import show_progress


@options.command("add", "fdch index add scenes.index scenes:320")
@options.index
@options.data
@options.layout
@options.remember_broken
@options.types
@options.engine
@options.device
@options.json
def command(
    index: str,
    data: str,
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
    features or codes.
    """
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
        document = describe_added(index, opened, added)
    report_added(document, added, pairs, as_json)
