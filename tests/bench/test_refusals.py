"""The measurement of refusals sees what a server does wrong."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from fdch.bench.hostile import refusals
from fdch.bench.hostile.refusals import measure_refusals, refusal_benchmark
from fdch.bench.hostile.requests import Hostile
from fdch.bench.serving.raw_requests import request
from fdch.bench.serving.server_process import ServerProcess
from fdch.errors import FdchError

MANY = {
    "refused": Hostile(request(path="/refused"), 422),
    "let in": Hostile(request(path="/let-in"), 422),
}


class Handler(BaseHTTPRequestHandler):
    """Finds something else after a request that it should have refused."""

    is_spoilt = False

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/let-in":
            Handler.is_spoilt = True
        found = "spoilt" if Handler.is_spoilt else "right"
        body = json.dumps({"results": [{"id": found}]}).encode()
        self.send_response(422 if self.path == "/refused" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Process(ServerProcess):
    """Stands for a process where there is none."""

    def memory(self):
        return 1


@pytest.fixture
def measured():
    """Measure a server in a thread of this process."""
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.is_spoilt = False
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        process = Process([], "/")
        process.port = server.server_port

        def measure(hostile):
            return measure_refusals(process, hostile, 2)

        yield measure
        server.shutdown()
        thread.join()


def test_a_request_that_is_let_in_is_reported(measured):
    found = measured(MANY)
    assert found["wrong"] == ["let in"]
    assert [each["statuses"] for each in found["requests"]] == [[422], [200]]
    assert found["right_requests"]["sent"] == 4
    assert found["right_requests"]["failed"] == 0


def test_a_server_that_answers_otherwise_afterwards_is_reported(measured):
    assert not measured(MANY)["goes_on"]


def test_a_server_that_refuses_what_it_must_passes(measured):
    found = measured({"refused": MANY["refused"]})
    assert (found["wrong"], found["goes_on"]) == ([], True)


def test_what_takes_too_long_is_reported(measured, monkeypatch):
    monkeypatch.setattr(refusals, "MAX_SECONDS", 0.0)
    assert measured(MANY)["slow"] == ["refused", "let in"]


def test_the_log_of_a_server_that_does_not_start_is_quoted(tmp_path):
    words = [sys.executable, "-c", "raise SystemExit('a reason')"]
    server = ServerProcess(words, "/", tmp_path / "log")
    with pytest.raises(FdchError, match="a reason"), server:
        pass


@pytest.mark.slow
def test_the_service_refuses_all_and_goes_on(monkeypatch):
    # on a busy machine the largest bodies take a second to arrive
    monkeypatch.setattr(refusals, "BODY_SECONDS", 3.0)
    found = refusal_benchmark(1, 1200)
    assert found["wrong"] == []
    assert found["goes_on"]
