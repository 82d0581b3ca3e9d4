"""Ids of requests, and the log as JSON."""

import io
import json
import logging

import httpx
import pytest

from fdch.cli import serve
from fdch.service.http.log_lines import JsonLines


@pytest.fixture
def lines(served):
    """What the service logs during a test, as JSON; served is shared."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("fdch.service")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_a_request_is_one_line_without_its_query(served, lines):
    reply = httpx.get(
        f"{served.url}/v1/search?q=beach", headers={"X-Request-Id": "a-1"}
    )
    [line] = [each for each in lines() if each.get("path") == "/v1/search"]
    assert reply.headers["x-request-id"] == line["id"] == "a-1"
    assert (line["method"], line["status"], line["level"]) == ("GET", 200, "info")
    assert line["client"] == "127.0.0.1"
    assert line["milliseconds"] > 0
    assert line["time"].endswith("+00:00")
    assert "beach" not in json.dumps(line)


def test_an_error_keeps_its_trace(lines):
    try:
        raise ValueError("of a handler")
    except ValueError:
        logging.getLogger("fdch.service").exception("failed")
    [line] = [each for each in lines() if each.get("message") == "failed"]
    assert "ValueError: of a handler" in line["trace"]


@pytest.mark.parametrize("given", ["", "a b", "ü".encode(), "x" * 65, 'a"}'])
def test_an_id_that_could_forge_a_line_is_replaced(served, given):
    reply = httpx.get(f"{served.url}/health", headers={"X-Request-Id": given})
    assert len(reply.headers["x-request-id"]) == 16


def test_every_reply_has_an_id_of_its_own(served):
    replies = [httpx.get(f"{served.url}{path}") for path in ("/", "/nothing", "/ready")]
    assert len({each.headers["x-request-id"] for each in replies}) == 3


def test_an_error_has_the_id_of_its_request(served, lines, monkeypatch):
    monkeypatch.setattr(served.service, "item", None)  # a bug
    url = f"{served.url}/v1/items/x"
    failed = httpx.get(url, headers={"X-Request-Id": "a-2"})
    assert failed.status_code == 500
    problem, request = (each for each in lines() if each["id"] == "a-2")
    assert problem["level"] == "error"
    assert problem["message"].startswith("TypeError at")
    assert (request["status"], request["path"]) == (500, "/v1/items/{id}")


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_command_starts_the_log_in_either_form(form, capsys, monkeypatch):
    logger = logging.getLogger("fdch.service")
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logger, "level", logger.level)
    serve._start_log(False, form)
    logger.info("ready")
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(" ready") if form == "text" else json.loads(line)["message"]
