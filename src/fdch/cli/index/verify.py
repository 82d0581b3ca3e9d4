"""`fdch index verify`: check every byte of an index."""

from fdch.cli.shared import options
from fdch.cli.shared.groups import Failure
from fdch.cli.shared.output import count, plain, say, say_json
from fdch.cli.shared.progress_lines import ProgressPrinter


@options.command("verify", "fdch index verify scenes.index")
@options.index
@options.json
def command(index: str, as_json: bool) -> None:
    """Read a whole index and find what is damaged.

    Nothing is changed. The exit code is 1 if there is damage; 'fdch index repair'
    then restores what it can.
    """
    from fdch.index.opening import require_folder
    from fdch.index.storage.maintenance.verification import verify_folder

    folder = require_folder(index)
    with ProgressPrinter() as progress:
        found = verify_folder(folder, progress)
    if as_json:
        problems = [
            {"file": each.file, "where": each.where, "what": each.what}
            for each in found.problems
        ]
        say_json({"index": index, "clean": found.is_clean, "problems": problems})
    else:
        for each in found.problems:
            say(plain(str(each), 500))
    if not found.is_clean:
        raise Failure(
            f"index '{index}' is damaged: {count(len(found.problems), 'problem')}. "
            f"'fdch index repair' keeps all that is intact."
        )
    if not as_json:
        say(f"{index}: no damage found")
