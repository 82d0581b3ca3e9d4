"""`fdch index remap`: new paths for pictures that moved."""

from dataclasses import asdict
from pathlib import Path

from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option
from fdch.cli.shared.output import count, report
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("remap", "fdch index remap scenes.index --pictures .")
@options.index
@option("--pictures DIR", "Where they are now.", PATH, required=True)
@options.json
def command(index: str, pictures: Path, as_json: bool) -> None:
    """Find the pictures of an index that moved to another folder.

    A picture that is no longer at its path is looked up in DIR by the end of that
    path, the longest first. Codes stay as they are. 'fdch index info --pictures'
    counts what is missing.
    """
    from fdch.retrieval.picture_paths import remap_pictures

    with ProgressPrinter() as progress:
        found = remap_pictures(index, pictures, progress)
    report(
        {"index": index, "pictures": asdict(found)},
        as_json,
        f"{count(found.moved, 'picture')} found in {pictures}; {found.found:,} were "
        f"in place, {found.missing:,} are missing",
    )
