"""The command `fdch serve` in a process of its own."""

import os
import re
import subprocess
import sys

from tests.service.running import wait_until

from fdch import Client


class Process:
    """`fdch serve` in a process of its own."""

    def __init__(self, index, *options, program=("-m", "fdch")):
        command = [sys.executable, *program, "serve", str(index), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"at (http://\S+)/", line)
        assert found, self.process.communicate()
        self.url = found[1]

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.communicate()

    def client(self, token=None):
        client = Client(self.url, token)
        wait_until(client.is_ready)
        return client

    def end(self, number):
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors
