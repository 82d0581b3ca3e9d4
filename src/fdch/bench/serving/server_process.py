"""A server in a process of its own, for the time of a measurement."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from fdch.bench.serving.raw_requests import get, request, send
from fdch.errors import FdchError

STARTING_SECONDS = 300
STOPPING_SECONDS = 30


class ServerProcess:
    """A server, started on entering, stopped on leaving.

    The first line that its command prints ends with its address; it takes queries at
    `path`, by POST. What it prints besides goes to the log, if there is one.
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
        """Return the bytes of memory that the process holds."""
        _, _, after = self._read("status").partition("VmRSS:")
        return int(after.split()[0]) * 1024 if after else 0

    def processor_seconds(self) -> float:
        """Return the time that its threads have spent on cores."""
        ticks = self._read("stat").rpartition(")")[2].split()[11:13]  # user and system
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def _read(self, name: str) -> str:
        """Read what Linux knows of the process; nothing elsewhere."""
        with suppress(OSError):
            return Path(f"/proc/{self.process.pid}/{name}").read_text()
        return ""

    def distances(self, body: str) -> list[int]:
        """Send one query; return the distances of what was found."""
        content = request(path=self.path, body=body.encode(), token=None)
        found = json.loads(send(self.port, content).body)
        return [each["distance"] for each in found["results"]]

    def _wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with suppress(OSError):
                # 404: it has no such address, but it answers
                if send(self.port, get("/ready")).status in (200, 404):
                    return
            time.sleep(0.1)
        printed = "above."
        if self.log is not None:
            end_of_log = self.log.read_text("utf-8", "replace")[-500:].strip()
            printed = f"last: {end_of_log or 'nothing.'}"
        raise FdchError(
            f"a server to be measured did not start: {' '.join(self.words)}. "
            f"Look at what it printed {printed}"
        )
