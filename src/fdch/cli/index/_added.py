"""Output of the commands that fill an index."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fdch.cli.shared.groups import Failure, Interrupted
from fdch.cli.shared.output import count, note, note_skipped, say, say_json
from fdch.errors import DataError, FdchError

if TYPE_CHECKING:
    from fdch.data.pairs import PairedSet
    from fdch.retrieval.adding import AddedPairs
    from fdch.retrieval.index import Index


@contextmanager
def explain_interruption(index: "Index") -> Iterator[None]:
    """Report at Ctrl-C what the index keeps."""
    try:
        yield
    except KeyboardInterrupt:
        held = count(len(index), "item")
        raise Interrupted(f"the index keeps its last commit, {held}.") from None


@contextmanager
def explain_filling(index: "Index") -> Iterator[None]:
    """Report that a new index exists if filling it ends early."""
    try:
        yield
    except (FdchError, KeyboardInterrupt) as problem:
        try:
            held = count(len(index), "item")
        except FdchError:
            raise problem from None
        kept = f"index was made and keeps {held}; continue with 'fdch index add'."
        if isinstance(problem, KeyboardInterrupt):
            raise Interrupted(f"the {kept}") from None
        raise Failure(f"{problem} The {kept}") from problem


def require_some(pairs: "PairedSet", added: "AddedPairs") -> None:
    """Refuse data of which all rows were skipped."""
    if added.skipped and not added.new + added.replaced:
        first = added.skipped[0]
        raise DataError(
            f"'{pairs.name}' has no rows to use; {len(added.skipped):,} were skipped, "
            f"the first, '{first.name}', because: {first.reason.rstrip('.')}."
        )


def describe_added(name: str, index: "Index", added: "AddedPairs") -> dict[str, Any]:
    """Return the document of `--json`."""
    return {
        "index": name,
        "items": len(index),
        "bits": index.bits,
        "model": index.fingerprint,
        "added": added.to_json(),
    }


def report_added(
    document: dict[str, Any],
    added: "AddedPairs",
    pairs: "PairedSet | None",
    as_json: bool,
) -> None:
    """Print what the index holds now, and what was skipped."""
    if as_json:
        say_json(document)
        return
    for text in () if pairs is None else pairs.notes:
        note(f"note: {text}")
    note_skipped(added.skipped)
    joined = f", {added.joined:,} of them joined halves" if added.joined else ""
    done = f"{added.new:,} new, {added.replaced:,} replaced{joined}"
    say(f"index   {document['index']}")
    say(f"items   {document['items']:,} ({done})")
    say(f"model   {document['model']}, {document['bits']} bits")
