"""Pictures decoded by helper processes, on machines with many cores.

Threads of one process take turns at the interpreter: six decode as fast as sixteen.
So each thread has a process of its own, which gets a file's bytes through a pipe and
leaves the pixels in memory that both share. What a process refuses, or fails at, the
thread decodes itself: the error is the one that it would have been.
"""

import mmap
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fdch.data.pictures.decoding import PictureLimits, decode
from fdch.data.pictures.images import Pictures
from fdch.errors import FdchError

MAX_THREADS = 6  # that gain from one another
MIN_PICTURES = 1000  # for which starting processes pays
_REQUEST = struct.Struct("<QQQ?")  # bytes, and the limits
_DONE, _REFUSED = b"\1", b"\0"
Pixels = NDArray[np.uint8]
Decode = Callable[[int, int, Pixels | None], Pixels]


class DecodingProcess:
    """A helper process that decodes one picture at a time to (size, size, 3)."""

    def __init__(self, size: int) -> None:
        with tempfile.TemporaryFile() as file:
            file.truncate(size * size * 3)
            self._pixels = _map_pixels(file.fileno(), size)
            words = [
                sys.executable,
                "-P",
                "-m",
                __name__,
                str(file.fileno()),
                str(size),
            ]
            # in a session of its own: Ctrl+C is for the program, whose end ends it too
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(file.fileno(),),
            )

    def decode(self, content: bytes, limits: PictureLimits, out: Pixels) -> bool:
        """Fill `out`, (size, size, 3); False where the picture is refused."""
        sent, received = self._process.stdin, self._process.stdout
        assert sent is not None and received is not None
        head = len(content), limits.bytes, limits.pixels, limits.quick
        sent.write(_REQUEST.pack(*head))
        sent.write(content)
        sent.flush()
        if received.read(1) != _DONE:
            return False
        out[...] = self._pixels
        return True

    def kill(self) -> None:
        """End the process, without waiting until it has ended."""
        self._process.kill()

    def wait(self) -> None:
        """Wait until the process has ended, and close its pipes."""
        self._process.communicate()


@contextmanager
def open_decoders(pictures: Pictures, threads: int) -> Iterator[Decode]:
    """Yield a function that decodes a row, for several threads at once."""
    if threads <= MAX_THREADS or len(pictures) < MIN_PICTURES:
        yield pictures.decode
        return
    started: list[DecodingProcess] = []
    own = threading.local()

    def decode_row(row: int, size: int, out: Pixels | None = None) -> Pixels:
        content = pictures.content(row)
        pixels = np.empty((size, size, 3), np.uint8) if out is None else out
        if isinstance(content, bytes):
            try:
                if not hasattr(own, "process"):
                    own.process = DecodingProcess(size)
                    started.append(own.process)
                if own.process.decode(content, pictures.limits, pixels):
                    return pixels
            except OSError:  # it could not start, or was killed
                pass
        return pictures.decode(row, size, pixels)

    try:
        yield decode_row
    finally:
        for process in started:
            process.kill()
        for process in started:  # they end side by side
            process.wait()


def serve(received: BinaryIO, sent: BinaryIO, pixels: Pixels) -> None:
    """Decode pictures into the same pixels until the input ends."""
    while head := received.read(_REQUEST.size):
        count, *limits = _REQUEST.unpack(head)
        content = received.read(count)
        try:
            decode(content, len(pixels), PictureLimits(*limits), out=pixels)
        except FdchError:
            sent.write(_REFUSED)
        else:
            sent.write(_DONE)
        sent.flush()


def _map_pixels(file: int, size: int) -> Pixels:
    shared = mmap.mmap(file, size * size * 3)
    return np.frombuffer(shared, np.uint8).reshape(size, size, 3)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, _map_pixels(*map(int, sys.argv[1:])))
