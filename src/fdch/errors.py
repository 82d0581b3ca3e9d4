"""Every error a user can act on; most are also the built-in error one expects.

FdchError
    DataError               what was given to read cannot be used; a ValueError
        MissingFile         a file or folder is not there; a FileNotFoundError
        MissingRow          a row beyond the last one; an IndexError
        BrokenRow           one row of a manifest or dataset
        BrokenPicture       one picture: truncated, too large, not a picture
            MissingPicture  its file is not there; a FileNotFoundError
        LabelError          labels that cannot supervise or score anything
        UnknownWords        a text without a single known word
    SettingError            a setting's name or value; a ValueError
    NotFitted               a method that has not learned yet; a ValueError
    RunError                a run folder that cannot be used
        MissingRun          there is no run; a FileNotFoundError
        DamagedRun          a file is missing, changed or malformed
        NewerRun            written by a later version
    IndexFolderError        an index that cannot be used
        MissingIndex        there is no index; a FileNotFoundError
        DamagedIndex        a file is missing, changed or malformed
        IndexBusy           another process is writing to it
        ModelMismatch       codes or queries of another model
        StoreAway           the server that keeps it cannot be reached
    ProtocolMismatch        scores that must not stand side by side
    MissingPackage          a package is not installed; an ImportError
        MissingExtra        one that an extra of fdch installs
    ServiceError            a service refused a request, or does not answer
    ProcessLost             a process that shares the work is gone or stuck
"""

import difflib
from collections.abc import Iterable


class FdchError(Exception):
    """Base of all errors that name what was wrong and what to do next."""


class DataError(FdchError, ValueError):
    """What was given to read cannot be used."""


class MissingFile(DataError, FileNotFoundError):
    """A file or folder is not there."""


class MissingRow(DataError, IndexError):
    """A row beyond the last one: the end of a loop over rows."""


class BrokenRow(DataError):
    """One row of a manifest or dataset cannot be used."""


class BrokenPicture(DataError):
    """One picture cannot be decoded, or is over the limits."""


class MissingPicture(BrokenPicture, FileNotFoundError):
    """The file of a picture is not there."""


class LabelError(DataError):
    """Labels that cannot supervise or score anything."""


class UnknownWords(DataError):
    """A text without a single word the method knows."""


class SettingError(FdchError, ValueError):
    """A setting has an unknown name or a value outside its range."""


class NotFitted(FdchError, ValueError):
    """A method cannot encode before it has learned."""


class RunError(FdchError):
    """A run folder cannot be used."""


class MissingRun(RunError, FileNotFoundError):
    """There is no run in a folder."""


class DamagedRun(RunError):
    """A file of a run is missing, changed or malformed."""


class NewerRun(RunError):
    """A run was written by a later version of fdch."""


class IndexFolderError(FdchError):
    """An index cannot be used."""


class MissingIndex(IndexFolderError, FileNotFoundError):
    """There is no index in a folder."""


class DamagedIndex(IndexFolderError):
    """A file of an index is missing, changed or malformed."""


class IndexBusy(IndexFolderError):
    """Another process is writing to the index."""


class ModelMismatch(IndexFolderError):
    """Codes or queries were made by another model than the index's own."""


class StoreAway(IndexFolderError):
    """The server that keeps an index cannot be reached."""


class ProtocolMismatch(FdchError):
    """Scores made under different protocols were put side by side."""


class ServiceError(FdchError):
    """A service refused a request, or does not answer.

    Args:
        message: What was wrong, and what to do.
        status: HTTP status; 0 where there was no answer.
        code: One word or some, for programs.
    """

    def __init__(self, message: str, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class ProcessLost(FdchError):
    """A process that shares the work is gone, or no longer answers."""


class MissingPackage(FdchError, ImportError):
    """A package is not installed."""


class MissingExtra(MissingPackage):
    """A package that an extra of fdch installs is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs a package that is not installed. "
            f"Install it with: pip install 'fdch[{extra}]'"
        )

    def __reduce__(self) -> tuple[type[MissingPackage], tuple[str]]:
        """Reach other processes with the message, which is what counts."""
        return MissingPackage, (str(self),)


def count_noun(number: int, noun: str, plural: str = "") -> str:
    """Write "1 pair" or "2,000 pairs".

    >>> count_noun(2000, "query", "queries")
    '2,000 queries'
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the nearest known name, or nothing.

    >>> suggestion("learning_rte", ["learning_rate", "bits"])
    "; did you mean 'learning_rate'?"
    """
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
