"""The time that one case may take."""

import faulthandler
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MAX_SECONDS = 10


class Hang(BaseException):
    """A reader took too long; no reader catches this as an error of a file."""


@contextmanager
def limit_seconds(seconds: float = MAX_SECONDS) -> Iterator[None]:
    """Raise Hang after some seconds; end the process after twice as many.

    Compiled code notices the first limit only when it returns.
    """

    def stop(*_: object) -> None:
        raise Hang(f"reading took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=sys.__stderr__ or 2)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)
