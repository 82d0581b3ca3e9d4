"""A server in a process of its own, for the time of a measurement."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from fdch.errors import FdchError

STARTING_SECONDS = 300
STOPPING_SECONDS = 30
ASKING_SECONDS = 60
_WAIT = 0.1


class ServerProcess:
    """Started on entering, stopped on leaving.

    Args:
        words: Its command; the first line it prints ends with its address.
        path: What it is asked for by POST.
        log: File for what it prints besides; None to let it through.
    """

    def __init__(
        self, words: Sequence[str], path: str, log: Path | None = None
    ) -> None:
        self.words, self.path, self.log = list(words), path, log
        self.port = 0

    def __enter__(self) -> Self:
        with nullcontext() if self.log is None else self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.words, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        try:
            words = self.process.stdout.readline().split()
            self.port = urlsplit(words[-1]).port or 0 if words else 0
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOPPING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def memory(self) -> int:
        """Give the bytes of memory that the process holds."""
        with suppress(OSError):
            for line in (
                Path(f"/proc/{self.process.pid}/status").read_text().split("\n")
            ):
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0

    def processor_seconds(self) -> float:
        """Give the time that its threads have spent on cores."""
        with suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
            ticks = text.rpartition(")")[2].split()[11:13]  # of user and system
            return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def distances(self, body: str) -> list[int]:
        """Ask once; give the distances of what was found."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.path}",
            body.encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=ASKING_SECONDS) as reply:
            return [each["distance"] for each in json.load(reply)["results"]]

    def _wait(self) -> None:
        """Wait until it answers a search."""
        end = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                url = f"http://127.0.0.1:{self.port}/ready"
                urllib.request.urlopen(url, timeout=ASKING_SECONDS).close()
                return
            except urllib.error.HTTPError as answer:
                answer.close()
                if answer.code == 404:  # it has no such address, but it answers
                    return
            except OSError:
                pass
            time.sleep(_WAIT)
        printed = "above." if self.log is None else f"last: {_end(self.log)}"
        raise FdchError(
            f"a server to be measured did not start: {' '.join(self.words)}. "
            f"Look at what it printed {printed}"
        )


def _end(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-500:].strip() or "nothing."
