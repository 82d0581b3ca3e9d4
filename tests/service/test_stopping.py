"""The command as a process: stopped, and killed while clients write."""

import json
import logging
import os
import signal
import socket
import threading
from contextlib import ExitStack, suppress

import httpx
import pytest
from tests.service.processes import Process
from tests.service.running import READ, WRITE, picture_bytes, wait_until

from fdch import Client, Index
from fdch.errors import ServiceError

ROUNDS = 3


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"read {READ}\nwrite {WRITE}\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def closing_at_end():
    with ExitStack() as stack:
        yield stack.enter_context


FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 512))
from fdch.cli import main
main()
"""


@pytest.mark.slow
def test_more_connections_than_files_do_not_stop_the_service(scenes, closing_at_end):
    served = Process(scenes.index, program=("-c", FEW_FILES))
    client = closing_at_end(served.client(None))
    port = int(served.url.rpartition(":")[2])
    with ExitStack() as crowd:
        for _ in range(600):
            with suppress(OSError):
                crowd.enter_context(socket.create_connection(("127.0.0.1", port)))
        # who was there before is still served
        assert client.by_text("beach", k=3).ids
        assert client.thumbnail(client.by_text("beach", k=1).ids[0])
    wait_until(lambda: is_answering(served.url))
    code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    assert "Traceback" not in log
    assert "out of system resource" not in log


def is_answering(url):
    with Client(url) as another:
        return another.is_ready()


@pytest.mark.slow
def test_a_service_answers_to_the_name_it_was_given(scenes):
    served = Process(scenes.index, "--host", "127.0.0.2")
    for name, status in ((None, 200), ("127.0.0.3", 421), ("localhost", 200)):
        headers = {} if name is None else {"host": name}
        reply = httpx.get(f"{served.url}/health", headers=headers)
        assert reply.status_code == status
    assert served.end(signal.SIGTERM)[0] == 0


@pytest.mark.slow
def test_sighup_reads_the_tokens_again(scenes, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"read {READ}")
    path.chmod(0o600)
    with Process(scenes.index, "--token-file", path, "--quiet") as served:
        served.client(READ).close()
        path.write_text(f"read {WRITE}")
        served.process.send_signal(signal.SIGHUP)
        headers = {"authorization": f"Bearer {WRITE}"}
        url = f"{served.url}/v1/index"
        wait_until(lambda: httpx.get(url, headers=headers).status_code == 200)
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log


def test_options_hold_for_the_process(own_index, token_file):
    limits = ("--upload-quota", "1KB", "--max-connections", 2)
    options = ("--token-file", token_file, *limits, "--log-format", "json")
    with Process(own_index, *options) as served:
        with served.client(WRITE) as client:
            client.put("small", image=picture_bytes())
            with pytest.raises(ServiceError) as caught:
                client.put("large", image=picture_bytes(size=(900, 900)))
        assert (caught.value.status, caught.value.code) == (507, "quota_full")
        address = ("127.0.0.1", int(served.url.rpartition(":")[2]))
        with ExitStack() as crowd:
            first, _ = (
                crowd.enter_context(socket.create_connection(address)) for _ in range(2)
            )
            wait_until(lambda: status_of(served.url) == 503)
            first.sendall(b"this is no HTTP\r\n\r\n")
            assert first.recv(100).startswith(b"HTTP/1.1 400 ")
        wait_until(lambda: status_of(served.url) == 200)
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    lines = [json.loads(line) for line in log.splitlines()]
    refused = [each for each in lines if each.get("status") == 507]
    assert [each["path"] for each in refused] == ["/v1/items/{id}"]
    assert refused[0]["id"]
    assert "Invalid HTTP" in "".join(each.get("message", "") for each in lines)


def status_of(url):
    return httpx.get(f"{url}/health").status_code


def dying(at):
    """A program that kills itself where a picture is being written or deleted."""
    code = """
import os, signal, sys
from fdch.cli import main
from fdch.index.storage.files.layout import PARTIAL
from fdch.retrieval.index import Index
from fdch.service.index.pictures import ItemPictures

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def half(self, path, content):
    path.with_name(path.name + PARTIAL).write_bytes(content[:9])
    die()

"""
    return ("-c", f"{code}\n{at}\nmain()")


def write_until_refused(client, names, acknowledged):
    """Write items until the service is gone; note each that it acknowledged."""
    for name in names:
        try:
            picture = picture_bytes() if name.endswith(("0", "4", "8")) else None
            client.put(name, text="beach", labels=[name], image=picture)
        except ServiceError:
            return
        acknowledged.append(name)


def test_a_stop_finishes_what_was_acknowledged(own_index, token_file, closing_at_end):
    served = closing_at_end(Process(own_index, "--token-file", token_file))
    client = closing_at_end(served.client(WRITE))
    acknowledged: list[str] = []
    names = (f"item {number}" for number in range(100_000))
    writing = threading.Thread(
        target=write_until_refused, args=(client, names, acknowledged)
    )
    writing.start()
    wait_until(lambda: len(acknowledged) > 10)
    code, log = served.end(signal.SIGTERM)
    writing.join()
    assert code == 0, log
    assert "everything acknowledged is on disk" in log
    assert WRITE not in log
    with Index.open(own_index, writable=True) as index:
        assert all(index.store.items(acknowledged))
        assert index.store.verify().is_clean  # type: ignore[attr-defined]


@pytest.mark.slow
def test_every_acknowledged_write_survives_kill_9(
    own_index, token_file, closing_at_end
):
    """Several clients write; the service is killed at once, again and again."""
    acknowledged: list[str] = []
    for round in range(ROUNDS):
        served = closing_at_end(Process(own_index, "--token-file", token_file))
        client = closing_at_end(served.client(WRITE))
        found = [client.item(name).id for name in acknowledged]
        assert found == acknowledged
        before = len(acknowledged)
        threads = [
            threading.Thread(
                target=write_until_refused,
                args=(
                    client,
                    [f"{round} {number} {i}" for i in range(10_000)],
                    acknowledged,
                ),
            )
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda before=before: len(acknowledged) > before + 40)
        served.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
    with Index.open(own_index, writable=True) as index:
        items = index.store.items(acknowledged)
        for name, item in zip(acknowledged, items, strict=True):
            assert item is not None
            assert item.labels == (name,)
            assert item.image is None or os.path.getsize(item.image) > 0
        assert index.store.verify().is_clean  # type: ignore[attr-defined]
    assert len(acknowledged) > ROUNDS * 40


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "give a --token-file"),
        (["--host", "::"], 2, "give a --token-file"),
        (["--token-file", "nowhere"], 1, "No such file"),
        (["--port", "65536"], 2, "65536"),
        (["--rate", "0"], 2, "rate"),
        (["--pictures", "no/such/folder"], 1, "no folder 'no/such/folder'"),
        (["--proxy", "nonsense"], 2, "'nonsense' is no IP address"),
    ],
)
def test_wrong_usage_is_refused(fdch_command, scenes, options, code, message):
    result = fdch_command("serve", scenes.index, *options)
    assert result.exit_code == code
    assert message in result.stderr


def test_an_index_that_is_not_there_is_refused(fdch_command, tmp_path):
    result = fdch_command("serve", tmp_path / "nowhere", "--port", "0")
    assert result.exit_code == 1
    assert "does not exist" in result.stderr


def test_a_model_that_cannot_be_loaded_ends_the_service(fdch_command, own_index):
    state = own_index / "model" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-100])
    result = fdch_command("serve", own_index, "--port", "0")
    assert result.exit_code == 1
    assert "state.safetensors" in result.stderr


@pytest.fixture
def fdch_command(monkeypatch):
    from click.testing import CliRunner

    from fdch.cli import cli

    monkeypatch.setattr(logging.root, "handlers", [])

    def run(*words):
        return CliRunner().invoke(cli, list(map(str, words)), catch_exceptions=False)

    return run
