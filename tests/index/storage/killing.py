"""Work that a process of its own begins, and is killed at."""

import signal
import subprocess
import sys

from tests.index.storage.processes import ENVIRONMENT

_BEGIN = """
import os, signal, sys
from pathlib import Path
path = Path(sys.argv[1])
def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_at(path, lines):
    """Run lines of Python that know `path`, and come to call `die`."""
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + lines, path],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
