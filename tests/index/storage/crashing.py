"""A process that forks others on demand, to be killed at any moment.

One line on standard input makes one: what it does, folder, seed, and after how
many calls to the system it kills itself (0: never; the test kills it then).
Writers print what they begin and what was acknowledged.
"""

import hashlib
import json
import os
import random
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
from tests.index.store_samples import copying

from fdch.codes import Codes
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.repair import repair_folder
from fdch.index.store import Item

BITS = 32
FACTS = {"method": "any"}
CALLS = (
    *("fsync", "fdatasync", "pwrite", "replace", "truncate", "unlink", "rename"),
    *("mkdir", "rmdir", "open"),
)


def code_of(id, version):
    return hashlib.blake2b(f"{id} {version}".encode(), digest_size=4).digest()


def codes_of(contents):
    packed = np.frombuffer(b"".join(contents), dtype=np.uint8)
    return Codes(packed.reshape(-1, 4).copy(), BITS)


def vectors_of(contents, width):
    """Give vectors that belong to codes, or None for an index without any."""
    if not width:
        return None
    made = [hashlib.blake2b(code, digest_size=width).digest() for code in contents]
    return np.frombuffer(b"".join(made), dtype=np.int8).reshape(-1, width)


def item_of(id, version):
    columns = {"version": version, "parity": "odd" if version % 2 else "even"}
    return Item(id, text=f"{id} version {version}", columns=columns, labels=("x",))


def say(**words):
    os.write(1, json.dumps(words).encode() + b"\n")


def write_until_killed(path, seed):
    draw = random.Random(seed)
    folder = CodeFolder.open(path, writable=True)
    while True:
        choice = draw.random()
        if choice < 0.55:
            ids = draw.sample(range(40), draw.randint(1, 8))
            some = [(f"id {i}", draw.randrange(10**6)) for i in ids]
            say(begin="add", items=some)
            codes = [code_of(*one) for one in some]
            vectors = vectors_of(codes, folder.vector_bytes)
            folder.add([item_of(*one) for one in some], codes_of(codes), vectors)
        elif choice < 0.75:
            gone = [f"id {i}" for i in draw.sample(range(40), 3)]
            say(begin="remove", ids=gone)
            folder.remove(gone)
        elif choice < 0.85:
            contents = [draw.randbytes(4) for _ in range(draw.randint(1, 5))]
            say(begin="add_numbered", codes=[code.hex() for code in contents])
            vectors = vectors_of(contents, folder.vector_bytes)
            folder.add_numbered(codes_of(contents), vectors)
        elif choice < 0.95:
            say(begin="compact")
            folder.compact()
        else:
            say(begin="reopen")
            folder.close()
            folder = CodeFolder.open(path, writable=True)
        say(done=True)


def repair(path, seed):
    repair_folder(Path(path))


def create(path, seed):
    """Make an index with the model that lies beside it."""
    write = copying(Path(path).parent / "run")
    CodeFolder.create(path, BITS, write, FACTS).close()


WORK = {"write": write_until_killed, "repair": repair, "create": create}


def die_after(calls):
    """Kill this process between two calls to the system."""
    left = calls

    def counting(call):
        def counted(*args, **kwargs):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return counted

    for name in filter(partial(hasattr, os), CALLS):  # macOS has no fdatasync
        setattr(os, name, counting(getattr(os, name)))


def main():
    for line in sys.stdin:
        work, path, seed, calls = json.loads(line)
        child = os.fork()
        if child == 0:
            if calls:
                die_after(calls)
            WORK[work](path, seed)
            os._exit(0)
        say(pid=child)
        os.waitpid(child, 0)
        say(gone=True)


if __name__ == "__main__":
    main()
