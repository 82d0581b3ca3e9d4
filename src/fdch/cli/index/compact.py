"""`fdch index compact`: less space, faster search."""

from typing import Any

from fdch.cli.shared import options
from fdch.cli.shared.output import count, report
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("compact", "fdch index compact scenes.index")
@options.index
@options.json
def command(index: str, as_json: bool) -> None:
    """Reclaim space and make searching faster.

    Drops the codes of removed items and groups the others, so that a search can
    skip whole groups; answers stay the same. Others may read meanwhile.
    """
    from fdch.index.opening import require_folder
    from fdch.index.storage.folder import CodeFolder

    path = require_folder(index)
    with ProgressPrinter() as progress:
        with CodeFolder.open(path, writable=True) as folder:
            before = folder.describe()
            folder.compact(progress)
        # closing writes the last of it
        with CodeFolder.open(path) as folder:
            after = folder.describe()
    document: dict[str, Any] = {
        "index": index,
        "items": after["items"],
        "bytes_before": before["bytes"],
        "bytes": after["bytes"],
    }
    grown = ""
    if document["bytes"] > document["bytes_before"]:
        grown = "; the groups that searches skip take more than was reclaimed"
    report(
        document,
        as_json,
        f"{index}: {count(document['items'], 'item')}, {after['bytes']:,} bytes",
        f"before it was {before['bytes']:,} bytes{grown}",
    )
