"""`fdch cache clear`: delete what can be computed again."""

from fdch.cli.shared import options
from fdch.cli.shared.output import count, report


@options.command("clear", "fdch cache clear")
@options.json
def command(as_json: bool) -> None:
    """Delete cached features, pixels and exports.

    They are in $FDCH_CACHE, or in ~/.cache/fdch. Results do not change: what is
    needed is computed again. Other files in that folder are kept.
    """
    from fdch.data.cache import clear_cache, default_folder

    files, freed = clear_cache(default_folder())
    document = {"folder": str(default_folder()), "files": files, "bytes": freed}
    shown = f"deleted {count(files, 'file')} of {freed:,} bytes in {default_folder()}"
    report(document, as_json, shown)
