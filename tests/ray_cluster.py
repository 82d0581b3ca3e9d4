"""A Ray cluster of two nodes on this machine, reachable from it alone.

Run as a program it prints its address, and ends with its standard input. The import
of Ray would raise warnings, which the tests take for errors.
"""

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

STORE_BYTES = 100 * 2**20
MARK = "FDCH_TEST_CLUSTER"
LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray's own word for 127.0.0.1 only
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # as commands have it
}


@contextmanager
def two_nodes(cache: Path):
    """Start a cluster; give the environment in which commands find it."""
    environment = os.environ | LOOPBACK
    environment |= {"FDCH_CACHE": str(cache), MARK: uuid.uuid4().hex}
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin, process.stdout:
            yield environment | {"RAY_ADDRESS": process.stdout.readline().strip()}
    finally:
        process.wait(300)


def find_workers(environment):
    """Give the processes of a cluster that encode at this moment."""
    title = b"ray::encode_part"
    mark = f"{MARK}={environment[MARK]}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_one = (process / "cmdline").read_bytes().startswith(title)
            if is_one and mark in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)
        except OSError:  # it has ended
            continue


def kill_one_worker(environment, while_running):
    """Kill a worker as it encodes, while a command runs; say if one was found."""
    while while_running.poll() is None:
        for process in find_workers(environment):
            os.kill(process, signal.SIGKILL)
            return True
        time.sleep(0.05)
    return False


def main():
    from ray.cluster_utils import Cluster

    node = {
        "num_cpus": 1,
        "object_store_memory": STORE_BYTES,
        "node_ip_address": "127.0.0.1",
    }
    head = node | {"include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**node)
    cluster.wait_for_nodes()
    sys.stdout.write(f"{cluster.address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
