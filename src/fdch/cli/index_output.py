"""What the commands that change an index print."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fdch.cli.groups import Interrupted
from fdch.cli.output import count, note, say

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.gallery_adding import AddedPairs
    from fdch.indexing import Index


@contextmanager
def interruptible(index: "Index") -> Iterator[None]:
    """Say at Ctrl-C what the index keeps."""
    try:
        yield
    except KeyboardInterrupt:
        held = count(len(index), "item")
        raise Interrupted(f"the index keeps its last commit, {held}.") from None


def describe_added(name: str, index: "Index", added: "AddedPairs") -> dict[str, Any]:
    """Give the document of `--json`."""
    return {
        "index": name,
        "items": len(index),
        "bits": index.bits,
        "model": index.fingerprint,
        "added": added.to_json(),
    }


def say_added(
    document: dict[str, Any], pairs: "PairedSet | None", added: "AddedPairs"
) -> None:
    """Print what is in the index now, and what was skipped on the way."""
    from fdch.cli.data_notes import tell_skipped

    for text in () if pairs is None else pairs.notes:
        note(f"note: {text}")
    tell_skipped(added.skipped)
    joined = f", {added.joined:,} of them joined halves" if added.joined else ""
    done = f"{added.new:,} new, {added.replaced:,} replaced{joined}"
    say(f"index   {document['index']}")
    say(f"items   {document['items']:,} ({done})")
    say(f"model   {document['model']}, {document['bits']} bits")
