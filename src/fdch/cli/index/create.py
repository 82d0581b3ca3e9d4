"""`fdch index create`: a run in, an index for its codes out."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdch.cli.index._added import describe_added, filling, say_added
from fdch.cli.shared.options import (
    DataName,
    PathName,
    device_option,
    example,
    index_argument,
    json_option,
    refuse_broken,
)
from fdch.cli.shared.output import say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter

if TYPE_CHECKING:
    from fdch.data.pairs import Broken


@click.command(
    "create",
    epilog=example("fdch index create scenes.index --run runs/first scenes:300"),
)
@index_argument
@click.option(
    "--run", required=True, type=PathName(), help="The trained run that encodes."
)
@click.argument("data", type=DataName(), required=False)
@refuse_broken
@device_option
@json_option
def command(
    index: str,
    run: Path,
    data: str | None,
    broken: "Broken",
    device: str,
    as_json: bool,
) -> None:
    """Create an index for a run's codes, and fill it.

    INDEX is a new folder, or milvus://host:port/collection. It holds a copy of the
    run, so that the index alone is enough to search. Without DATA the index is
    empty; 'fdch index add' fills it.
    """
    from fdch.index.opening import require_free
    from fdch.retrieval.adding import AddedPairs
    from fdch.retrieval.index import Index
    from fdch.runs.preparation import read_pairs
    from fdch.runs.run import open_run
    from fdch.training.context import Context

    require_free(index)  # before pictures are read for it
    with ProgressPrinter() as progress:
        context = Context(progress, device)
        opened = open_run(run, context)
        pairs = None if data is None else read_pairs(data, broken, context)
        with Index.create(index, opened, context=context) as made:
            added = AddedPairs()
            if pairs is not None:
                with filling(made):
                    added = made.add(pairs, broken=broken, progress=progress)
            document = describe_added(index, made, added)
    if as_json:
        say_json(document)
        return
    say_added(document, pairs, added)
    quoted = shlex.quote(index)
    if data is None:
        say(f"next    fdch index add {quoted} pairs.csv")
    else:
        say(f"next    fdch search {quoted} --text WORDS")
