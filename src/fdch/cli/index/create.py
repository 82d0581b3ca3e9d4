"""`fdch index create`: a run in, an index for its codes out."""

import shlex
from dataclasses import replace
from pathlib import Path

import click

from fdch.cli.index._added import (
    describe_added,
    explain_filling,
    report_added,
    require_some,
)
from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import say
from fdch.cli.shared.progress_lines import show_progress


@options.command("create", "fdch index create scenes.index --run runs/first scenes:300")
@options.index
@option("--run", "The trained run that encodes.", PATH, required=True)
@click.argument("data", type=options.DATA, required=False)
@options.layout
@options.remember_broken
@options.types
@options.engine
@options.device
@options.json
def command(
    index: str,
    run: Path,
    data: str | None,
    layout: "options.Layout",
    broken: "options.Broken | None",
    types: "tuple[tuple[str, options.ColumnType], ...]",
    engine: "options.EngineName",
    device: str,
    as_json: bool,
) -> None:
    """Create an index for a run's codes, and fill it.

    INDEX is a new folder, or milvus://host:port/collection. It holds a copy of the
    run, so that the index alone is enough to search. Without DATA the index is
    empty; 'fdch index add' fills it.
    """
    from fdch.index.column_types import find_types, require_typed_columns
    from fdch.index.decimal_commas import read_decimal_commas
    from fdch.index.opening import require_free
    from fdch.retrieval.adding import AddedPairs
    from fdch.retrieval.index import Index
    from fdch.runs.engines import open_engine
    from fdch.runs.preparation import complete_reading, read_pairs
    from fdch.runs.run import open_run

    require_free(index)  # before pictures are read for it
    with show_progress(device) as context:
        opened = open_run(run, context)
        pairs = None
        layout, broken = complete_reading(opened.facts, data, layout, broken)
        if data is not None:
            pairs = read_pairs(data, broken, context, engine, layout)
            require_typed_columns(dict(types), pairs.columns)
            columns = read_decimal_commas(pairs.columns, chosen=dict(types))
            pairs = replace(pairs, columns=columns)
        chosen = {**({} if pairs is None else find_types(pairs.columns)), **dict(types)}
        with (
            open_engine(engine, opened, broken, context) as encoder,
            Index.create(index, opened, context=context, types=chosen) as made,
        ):
            added = AddedPairs()
            if pairs is not None:
                with explain_filling(made):
                    progress = context.progress
                    added = made.add(
                        pairs, broken=broken, progress=progress, engine=encoder
                    )
                    require_some(pairs, added)
            document = describe_added(index, made, added)
    report_added(document, added, pairs, as_json)
    if not as_json:
        name = shlex.quote(index)
        add, search = f"index add {name} pairs.csv", f"search {name} --text WORDS"
        say(f"next    fdch {add if data is None else search}")
