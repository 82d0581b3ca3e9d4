"""The load counts what it gets; the peer answers as the service does."""

import asyncio
import json
import sys
from dataclasses import replace

import pytest

pytest.importorskip("faiss")
pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx

from fdch import FDCH, Index, Searcher
from fdch.bench.search import load_faiss
from fdch.bench.serving.faiss_server import WAYS, make_app
from fdch.bench.serving.load import Load, drive
from fdch.bench.serving.server_process import ServerProcess
from fdch.bench.serving.throughput import LoadSizes, fit_small, serve_benchmark
from fdch.errors import FdchError


def driven(answers, clients=1, seconds=0.1):
    """Drive a server that answers with these, in turn; None hangs up."""
    seen = []

    async def serve(reader, writer):
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            seen.append(json.loads(await reader.readexactly(length)))
            answer = answers[(len(seen) - 1) % len(answers)]
            if answer is None:
                break
            for part in answer:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    async def work():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        bodies = ['{"text": "a"}', '{"text": "é"}']
        async with server:
            return await drive(Load(port, "/search", bodies, clients, seconds))

    return asyncio.run(work()), seen


WHOLE = (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",)
PIECES = (b"HTTP/1.1 200 OK\r\ncontent-", b"length: 4\r\n\r\n{", b"   ")
BUSY = (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",)


def test_every_request_is_counted_and_timed():
    found, seen = driven([WHOLE], clients=4, seconds=2.0)
    assert found["requests"] == len(seen) > 4
    assert found["errors"] == {}
    assert {each["text"] for each in seen} == {"a", "é"}
    times = found["milliseconds"]
    assert 0 < times["p50"] <= times["p95"] <= times["p99"]
    assert found["per_second"] == pytest.approx(len(seen) / found["seconds"])


def test_answers_may_come_in_pieces():
    found, seen = driven([PIECES], clients=2)
    assert (found["requests"], found["errors"]) == (len(seen), {})


def test_refusals_and_lost_connections_are_errors():
    found, _ = driven([WHOLE, BUSY, None], seconds=60)
    assert found["errors"] == {"503": 1, "connection lost": 1}


@pytest.mark.integration
@pytest.mark.parametrize("way", WAYS)
def test_the_peer_finds_what_a_searcher_finds(way, tmp_path):
    method = FDCH(bits=16)
    texts = fit_small(method)
    codes = method.encode_texts(_sentences(texts))
    with Index.create(tmp_path / "index", method) as index:
        index.add_codes(
            [str(i) for i in range(len(codes))], codes, model=index.fingerprint
        )
        peer = load_faiss().IndexBinaryFlat(16)
        peer.add(codes.packed)
        reply = asyncio.run(_ask(make_app(index, peer, way), texts[3]))
        expected = Searcher(index).by_text(texts[3], k=7)
    assert reply.status_code == 200
    found = [each["distance"] for each in reply.json()["results"]]
    assert found == [each.distance for each in expected]


async def _ask(app, text):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://peer") as client:
        return await client.post("/search", json={"text": text, "k": 7})


def _sentences(texts):
    from fdch.data.texts import Sentences

    return Sentences(texts)


def test_a_server_that_does_not_start_is_reported():
    words = [sys.executable, "-c", "raise SystemExit(3)"]
    with pytest.raises(FdchError, match="did not start"), ServerProcess(words, "/"):
        pass


SIZES = LoadSizes(
    sizes=[3000],
    kind="random",
    clients=8,
    seconds=0.5,
    repeats=1,
    k=20,
    bits=64,
    seed=0,
    encoder="torch",
)


def test_an_exported_model_is_not_measured_with_vectors():
    assert list(SIZES.methods) == ["fdch", "fdch_plus"]
    assert list(replace(SIZES, encoder="onnx").methods) == ["fdch"]


@pytest.mark.slow
def test_both_sides_are_measured_without_errors():
    document = serve_benchmark(SIZES)
    [case] = document["cases"]
    assert case["answers_agree"]
    assert case["errors"] == 0
    assert set(case["sides"]) == {"fdch", "fdch_plus", "fdch_plus_words", *WAYS}
    assert case["ratio"]["median"] > 0
    assert case["ratio_by_vectors"]["median"] > 0
    assert case["ratio_by_words"]["median"] > 0
