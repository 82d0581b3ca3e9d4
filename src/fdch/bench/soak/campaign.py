"""The service under mixed load, watched; then all it acknowledged is checked."""

import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.clustered_codes import Source
from fdch.bench.hostile.refusals import BITS, fit_small_method
from fdch.bench.serving.raw_requests import (
    READ,
    WRITE,
    picture_bytes,
    request,
    send,
)
from fdch.bench.serving.server_process import ServerProcess
from fdch.bench.soak.clients import Known, SoakClient
from fdch.client.client import Client
from fdch.data.texts import Sentences
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.maintenance.verification import verify_folder
from fdch.index.store import Item
from fdch.progress import Progress, Update, silent
from fdch.retrieval.index import Index

OWNERS = ("ann", "bob", "cid", "dan")
MAX_GROWTH = 1.2  # of memory, from the second quarter of the time to the last
OTHERS = 3  # small indexes that take turns
RELOADING_SECONDS = 60.0
MIN_JUDGED = 8  # samples
_COLOURS = ("red", "green", "blue", "black", "white", "orange")
_OTHER = "/v1/indexes/other"
Contents = dict[str, Known]


def soak_benchmark(
    minutes: float, rate: float, items: int, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """Serve an index to clients for some minutes, at so many requests a second."""
    with tempfile.TemporaryDirectory(prefix="fdch-bench-") as name:
        place = Path(name)
        contents, texts = _make_indexes(place, items, seed)
        server = ServerProcess(_command(place), "/v1/search", place / "log")
        with server:
            inputs = _encode(server.port, texts)
            clients = [
                SoakClient(
                    name, server.port, own, *inputs, random.Random(f"{seed}{name}")
                )
                for name, own in contents.items()
            ]
            watched = _watch(server, place, clients, minutes, rate, progress)
        own = {name: known for each in clients for name, known in each.own.items()}
        lost = _compare(place / "index", own)
        damage = [str(each) for each in verify_folder(place / "index").problems]
    acts = sum((each.done for each in clients), Counter[str]())
    return {
        "benchmark": "soak",
        "minutes": minutes,
        "rate": rate,
        "items": [items, len(own)],
        "acts": dict(acts),
        "samples": watched["samples"],
        "memory": judge_memory([each["memory_bytes"] for each in watched["samples"]]),
        "wrong": [*watched["wrong"], *(it for each in clients for it in each.wrong)],
        "failed": [it for each in clients for it in each.failed],
        "lost": lost,
        "damage": damage,
        "exit_code": server.process.returncode,
    }


def judge_memory(sizes: list[int]) -> dict[str, Any]:
    """Say how memory went on after the first quarter of equally spaced samples.

    >>> judge_memory([1, *[1000] * 7])
    {'bytes_a_sample': 0, 'growth': 1.0, 'is_bounded': True}
    """
    later, quarter = sizes[len(sizes) // 4 :], max(1, len(sizes) // 4)
    slope = np.polyfit(range(len(later)), later, 1)[0] if len(later) > 1 else 0
    growth = float(np.median(later[-quarter:]) / np.median(later[:quarter]))
    is_bounded = len(sizes) < MIN_JUDGED or growth <= MAX_GROWTH
    return {"bytes_a_sample": round(slope), "growth": growth, "is_bounded": is_bounded}


def _make_indexes(
    place: Path, items: int, seed: int
) -> tuple[dict[str, Contents], list[str]]:
    """Make the index, small ones that take turns, and the tokens."""
    method, pairs = fit_small_method()
    assert isinstance(pairs.texts, Sentences)
    texts = [str(text) for text in pairs.texts.values]
    codes = Source("random", BITS, seed).draw(items, 1)
    added: list[Item] = []
    contents: dict[str, Contents] = {owner: {} for owner in OWNERS}
    for number, code in enumerate(codes.packed):
        owner, text = OWNERS[number % len(OWNERS)], texts[number % len(texts)]
        columns = {"owner": owner, "colour": _COLOURS[number % len(_COLOURS)]}
        added.append(Item(f"{owner} {number}", text, columns=columns, kind="text"))
        contents[owner][added[-1].id] = Known(code.tobytes(), text)
    with Index.create(place / "index", method) as index:
        index.store.add(added, codes, None)
    for turn in range(OTHERS):
        with Index.create(place / f"other {turn}", method) as index:
            index.add(pairs[: 10 + turn])
    _change_place(place, 0)
    return contents, texts


def _command(place: Path) -> list[str]:
    words = [sys.executable, "-m", "fdch", "serve", f"main={place / 'index'}"]
    words += [f"other={place / 'other'}", "--port", "0", "--quiet"]
    return [*words, "--token-file", str(place / "tokens"), "--body-seconds", "3"]


def _encode(port: int, texts: list[str]) -> tuple[list[Known], list[Known]]:
    """Return texts and pictures with the codes that the service gives them."""
    files = [picture_bytes(colour, (80, 60), "JPEG") for colour in _COLOURS]
    with Client(f"http://127.0.0.1:{port}", READ) as client:
        codes = client.encode_texts(texts).packed
        pictures = [client.encode_image(file).packed for file in files]
    return (
        [Known(code.tobytes(), text) for code, text in zip(codes, texts, strict=True)],
        [
            Known(code.tobytes(), picture=file)
            for code, file in zip(pictures, files, strict=True)
        ],
    )


def _watch(
    server: ServerProcess,
    place: Path,
    clients: list[SoakClient],
    minutes: float,
    rate: float,
    progress: Progress,
) -> dict[str, list[Any]]:
    """Let clients work; each minute sample the server and change what it serves."""
    began = time.monotonic()
    end, count = began + 60 * minutes, max(2, round(minutes))
    work = [
        threading.Thread(target=each.work, args=(len(clients) / rate, end))
        for each in clients
    ]
    for thread in work:
        thread.start()
    samples: list[dict[str, Any]] = []
    wrong: list[str] = []
    for turn in range(1, count + 1):
        spent = server.processor_seconds()
        _change_place(place, turn)
        wrong += _reload(server.port, turn)
        time.sleep(max(0.0, began + 60 * minutes * turn / count - time.monotonic()))
        seconds: list[float] = []
        for each in clients:
            new, each.seconds = each.seconds, []
            seconds += new
        times = 1000 * np.array(seconds or [0.0])
        p50, p99, most = np.percentile(times, (50, 99, 100)).tolist()
        samples.append(
            {
                "requests": len(seconds),
                "milliseconds": {"p50": p50, "p99": p99, "max": most},
                "memory_bytes": server.memory(),
                "open_files": server.open_files(),
                "threads": server.threads(),
                "processor_seconds": server.processor_seconds() - spent,
                "failed": sum(len(each.failed) for each in clients),
            }
        )
        progress(Update("soaking", turn, count, "minute"))
    for thread in work:
        thread.join()
    return {"samples": samples, "wrong": wrong}


def _change_place(place: Path, turn: int) -> None:
    """Put the other small index in its place, and give out another token."""
    link, tokens = place / "link", place / "tokens.new"
    link.symlink_to(place / f"other {turn % OTHERS}")
    link.replace(place / "other")
    tokens.write_text(f"read {READ}\nwrite {WRITE}\nread {_token(turn)}\n")
    tokens.chmod(0o600)
    tokens.replace(place / "tokens")


def _token(turn: int) -> str:
    return f"a-token-of-turn-{turn}"


def _reload(port: int, turn: int) -> list[str]:
    """Have the changes noticed; say what is not as it should be."""
    sent = {
        "reload": request("POST", f"{_OTHER}/reload", token=WRITE),
        "new token": request("GET", f"{_OTHER}/index", token=_token(turn)),
        "old token": request("GET", f"{_OTHER}/index", token=_token(turn - 1)),
    }
    got = {name: send(port, content) for name, content in sent.items()}
    # on a busy machine it may take too long; the index before is then still closing
    end = time.monotonic() + RELOADING_SECONDS
    while got["reload"].status in (409, 503) and time.monotonic() < end:
        time.sleep(1)
        got = {name: send(port, content) for name, content in sent.items()}
    statuses = {name: reply.status for name, reply in got.items()}
    if statuses != {"reload": 200, "new token": 200, "old token": 401}:
        return [f"turn {turn}: {statuses}"]
    items = json.loads(got["new token"].body)["items"]
    return (
        [] if items == 10 + turn % OTHERS else [f"turn {turn}: the index has {items}"]
    )


def _compare(path: Path, own: Contents) -> list[str]:
    """Name the items that are not on disk as they were acknowledged."""
    found: Contents = {}
    with CodeFolder.open(path) as folder:
        for items, codes, _ in folder.batches(10_000):
            for item, code in zip(items, codes.packed, strict=True):
                picture = Path(item.image).read_bytes() if item.image else None
                found[item.id] = Known(code.tobytes(), item.text, picture)
    names = own.keys() | found.keys()
    return sorted(name for name in names if own.get(name) != found.get(name))
