"""`fdch index add`: pairs or ready codes into an index."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdch.cli.index._added import describe_added, interruptible, say_added
from fdch.cli.shared.options import (
    DataName,
    device_option,
    example,
    index_argument,
    json_option,
    refuse_broken,
)
from fdch.cli.shared.output import say_json
from fdch.cli.shared.progress_lines import ProgressPrinter

if TYPE_CHECKING:
    from fdch.data.pairs import Broken


@click.command("add", epilog=example("fdch index add scenes.index scenes:320"))
@index_argument
@click.argument("data", type=DataName())
@refuse_broken
@device_option
@json_option
def command(
    index: str, data: str, broken: "Broken", device: str, as_json: bool
) -> None:
    """Encode pairs and add them to an index.

    DATA is what 'fdch train' takes, or a file of codes by 'fdch encode'. A row
    whose id is known replaces that item; one with a picture only, or a text
    only, is joined with the other half if the index has it. What was added is
    on disk after every 128 rows, or 8,192 of ready features or codes.
    """
    from fdch.retrieval.index import Index
    from fdch.runs.code_files import holds_codes
    from fdch.runs.preparation import read_pairs
    from fdch.training.context import Context

    with ProgressPrinter() as progress:
        context = Context(progress, device)
        with Index.open(index, writable=True, context=context) as opened:
            pairs = None
            with interruptible(opened):
                if holds_codes(Path(data)):
                    added = opened.add_encoded(data)
                else:
                    pairs = read_pairs(data, broken, context)
                    added = opened.add(pairs, broken=broken, progress=progress)
            document = describe_added(index, opened, added)
    if as_json:
        say_json(document)
    else:
        say_added(document, pairs, added)
