"""Keep one Milvus server alive while tests use it; run as a script.

Tests run in several processes and may be killed. Each that uses the server holds a
shared lock on FOLDER/users, which the system lets go of when a process ends in
whatever way. Once nobody holds one, this process stops the server, deletes its
data and ends.
"""

import fcntl
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

SECONDS = 300  # it takes a minute on a busy machine
# Below the ports that systems give to outgoing connections: the server listens
# seconds after its ports were found free, and one of those could be taken by then.
PORTS = range(20_000, 32_000)
PARTS = ["proxy", "rootCoord", "queryCoord", "dataCoord"]
PARTS += ["queryNode", "indexNode", "dataNode"]
# Milvus starts an etcd, which would listen on its usual ports by default.
ETCD = """
listen-client-urls: http://127.0.0.1:{clients}
advertise-client-urls: http://127.0.0.1:{clients}
listen-peer-urls: http://127.0.0.1:{peers}
initial-advertise-peer-urls: http://127.0.0.1:{peers}
initial-cluster: default=http://127.0.0.1:{peers}
"""


@contextmanager
def using_server(folder):
    """What a folder's keeper writes, one for all processes that use the folder."""
    with (folder / "users").open("a") as users, (folder / "start").open("a") as start:
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(start, fcntl.LOCK_EX)
        server = started(folder)
        fcntl.flock(start, fcntl.LOCK_UN)
        yield server


def started(folder, seconds=330):
    """What the keeper writes, started unless it is there."""
    written = folder / "server.json"
    if not written.exists():
        with (folder / "keeper.log").open("w") as log:
            subprocess.run(
                [sys.executable, __file__, folder], stdout=log, stderr=log, check=True
            )
    end = time.monotonic() + seconds
    while not written.exists():
        if time.monotonic() > end:
            return {"problem": f"it did not start in {seconds} s"}
        time.sleep(0.1)
    return json.loads(written.read_text())


def free_ports(count):
    """Ports that nobody listens on, found together so that all differ."""
    with ExitStack() as stack:
        found = []
        for port in random.SystemRandom().sample(PORTS, len(PORTS)):
            one = stack.enter_context(socket.socket())
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"fewer than {count} free ports in {PORTS}")


def configured(folder):
    """A server on free ports of this machine, its data in folder/data."""
    from milvus import MilvusServer, MilvusServerConfig

    server = MilvusServer(MilvusServerConfig(data_dir=str(folder / "data")))
    for part in PARTS:
        server.config.set(f"{part}.ip", "127.0.0.1")
    keys = [key for key in server.config_keys if key.endswith("_port")]
    ports = free_ports(len(keys) + 2)
    server.config.update(**dict(zip(keys, ports, strict=False)))
    server.webservice_port, peers = ports[-2:]
    clients = server.config.configs["etcd_port"]
    (folder / "etcd.yaml").write_text(ETCD.format(clients=clients, peers=peers))
    os.environ["ETCD_CONFIG_PATH"] = str(folder / "etcd.yaml")
    return server


def start(server):
    """Start a server, and return once it answers: healthy is said earlier."""
    end = time.monotonic() + SECONDS
    server.wait_for_started = False
    server.start()
    server.wait_started(SECONDS * 1000)
    while not answers(server.listen_port):
        if time.monotonic() > end:
            raise TimeoutError(f"Milvus did not answer in {SECONDS} s")
        time.sleep(0.5)


def answers(port):
    """Whether a server speaks on a port, be it to refuse a user."""
    from pymilvus import MilvusClient, MilvusException

    from fdch.index.milvus.connection import is_unknown_user

    try:
        MilvusClient(f"http://127.0.0.1:{port}", timeout=5).close()
    except MilvusException as problem:
        return is_unknown_user(problem)
    return True


def keep(folder):
    server = configured(folder)
    with (folder / "users").open("a") as users:
        try:
            start(server)
            report(folder, {"address": f"127.0.0.1:{server.listen_port}"})
            wait_for_users_to_leave(users)
            # Who comes now waits for the lock, finds nothing, and starts another.
            (folder / "server.json").unlink()
        except Exception as problem:
            report(folder, {"problem": f"{type(problem).__name__}: {problem}"})
            raise
        finally:
            server.stop()
            shutil.rmtree(folder / "data", ignore_errors=True)


def report(folder, document):
    partial = folder / "server.partial"
    partial.write_text(json.dumps(document))
    partial.rename(folder / "server.json")


def wait_for_users_to_leave(users):
    while True:
        try:
            return fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.5)


if __name__ == "__main__":
    if os.fork() == 0:
        os.setsid()
        keep(Path(sys.argv[1]))
