"""Opens or makes an index as a user who owns nothing, and prints how that went."""

import fcntl  # noqa: F401  before the user is left who may import it
import mmap  # noqa: F401
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.index.storage.processes import ENVIRONMENT
from tests.index.store_samples import random_codes

from fdch.errors import FdchError
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item

NOBODY = 65534


def as_nobody(path, action):
    """Run this file as a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, __file__, path, action],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    return done.stdout.strip()


@contextmanager
def followed_by_nobody(path):
    """Keep the index open in another process; yields a function that counts there."""
    with subprocess.Popen(
        [sys.executable, __file__, path, "follow"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as reader:
        assert reader.stdin
        assert reader.stdout
        request, answers = reader.stdin, reader.stdout

        def count():
            request.write("\n")
            request.flush()
            return answers.readline().strip()

        yield count
        request.close()


def follow(path):
    with CodeFolder.open(path) as folder:
        for _ in sys.stdin:
            try:
                found = sum(len(batch.items) for batch in folder.batches(100))
                said = f"{len(folder)} {found}"
            except FdchError as problem:
                said = f"{type(problem).__name__} {problem}"
            print(said, flush=True)  # noqa: T201


def main():
    path, action = Path(sys.argv[1]), sys.argv[2]
    random_codes(1)
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        if action == "verify":
            print(len(verify_folder(path).problems))  # noqa: T201
            return
        if action == "follow":
            follow(path)
            return
        if action == "create":
            CodeFolder.create(path, 32, "model").close()
            return
        with CodeFolder.open(path, writable=action == "write") as folder:
            if action == "write":
                folder.add([Item("new")], random_codes(1))
            print(len(folder), len(folder.fetch(["item 1"]).codes))  # noqa: T201
    except FdchError as problem:
        print(type(problem).__name__, problem)  # noqa: T201


if __name__ == "__main__":
    main()
