"""The service under mixed load, watched; then all it acknowledged is checked."""

import os
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
from fdch.bench.serving.raw_requests import READ, WRITE, picture_bytes
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
MIN_JUDGED = 8  # samples
_COLOURS = ("red", "green", "blue", "black", "white", "orange")
Contents = dict[str, Known]


def soak_benchmark(
    minutes: float, rate: float, items: int, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """Serve an index to clients for some minutes, at so many requests a second."""
    with tempfile.TemporaryDirectory(prefix="fdch-bench-") as name:
        place = Path(name)
        contents, texts = _make_index(place, items, seed)
        server = ServerProcess(_command(place), "/v1/search", place / "log")
        with server:
            inputs = _encode(server.port, texts)
            clients = [
                SoakClient(
                    name, server.port, own, *inputs, random.Random(f"{seed}{name}")
                )
                for name, own in contents.items()
            ]
            samples = _watch(server, clients, minutes, rate, progress)
        own = {name: known for each in clients for name, known in each.own.items()}
        lost = _compare(place / "index", own)
        damage = [str(each) for each in verify_folder(place / "index").problems]
    acts = sum((each.done for each in clients), Counter[str]())
    return {
        "minutes": minutes,
        "rate": rate,
        "items": [items, len(own)],
        "acts": dict(acts),
        "samples": samples,
        "memory": judge_memory([each["memory_bytes"] for each in samples]),
        "wrong": [it for each in clients for it in each.wrong],
        "failed": [it for each in clients for it in each.failed],
        "lost": lost,
        "damage": damage,
        "exit_code": server.process.returncode,
    }


def judge_memory(sizes: list[int]) -> dict[str, Any]:
    """Judge how memory grew after the first quarter of equally spaced samples.

    >>> judge_memory([1, *[1000] * 7])
    {'bytes_a_sample': 0, 'growth': 1.0, 'is_bounded': True}
    """
    later, quarter = sizes[len(sizes) // 4 :], max(1, len(sizes) // 4)
    slope = np.polyfit(range(len(later)), later, 1)[0] if len(later) > 1 else 0
    growth = float(np.median(later[-quarter:]) / np.median(later[:quarter]))
    is_bounded = len(sizes) < MIN_JUDGED or growth <= MAX_GROWTH
    return {"bytes_a_sample": round(slope), "growth": growth, "is_bounded": is_bounded}


def _make_index(
    place: Path, items: int, seed: int
) -> tuple[dict[str, Contents], list[str]]:
    """Make the index and the tokens; return what each client owns, and all texts."""
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
    (place / "tokens").write_text(f"read {READ}\nwrite {WRITE}\n")
    (place / "tokens").chmod(0o600)
    return contents, texts


def _command(place: Path) -> list[str]:
    words = [sys.executable, "-m", "fdch", "serve", str(place / "index")]
    words += ["--port", "0", "--quiet", "--body-seconds", "3"]
    return [*words, "--token-file", str(place / "tokens")]


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
    clients: list[SoakClient],
    minutes: float,
    rate: float,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Let clients work, and look at the server each minute."""
    began = time.monotonic()
    end, count = began + 60 * minutes, max(2, round(minutes))
    work = [
        threading.Thread(target=each.work, args=(len(clients) / rate, end))
        for each in clients
    ]
    for thread in work:
        thread.start()
    samples: list[dict[str, Any]] = []
    about = f"/proc/{server.process.pid}"  # what Linux knows of it
    for turn in range(1, count + 1):
        spent = server.processor_seconds()
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
                "open_files": len(os.listdir(f"{about}/fd")),
                "threads": len(os.listdir(f"{about}/task")),
                "processor_seconds": server.processor_seconds() - spent,
                "failed": sum(len(each.failed) for each in clients),
            }
        )
        progress(Update("soaking", turn, count, "minute"))
    for thread in work:
        thread.join()
    return samples


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
