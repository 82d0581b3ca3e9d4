"""How many pictures a second are read, hashed, decoded and turned into features."""

import io
import math
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from fdch.bench.timing import ratio, spread, time_turns
from fdch.data.cache import ResultCache
from fdch.data.pictures.batches import decode_batches
from fdch.data.pictures.images import Images, PictureArray, Pictures
from fdch.data.rows import TOGETHER, count_threads, in_threads
from fdch.errors import DataError
from fdch.networks.features import ACCELERATOR_BATCH, FeatureExtractor
from fdch.progress import Progress, silent

PLAIN_BATCH = 64


def pictures_benchmark(
    images: Images,
    most: int,
    image_network: str,
    repeats: int,
    device: str = "auto",
    progress: Progress = silent,
) -> dict[str, Any]:
    """Time the parts of feature extraction, all of it, and a plain loop, in turns.

    Takes at most so many pictures, the first ones. Returns pictures per second of
    each side, how many times the whole is faster than the plain loop, and the least
    cosine between features of the two.
    """
    pictures = _choose(images, most)
    extractor = FeatureExtractor(image_network, device=device)
    extractor.network.to(extractor.device)
    size, threads = extractor.network.size, count_threads()
    alone = max(1, len(pictures) // threads)
    ready = next(decode_batches(pictures, size, ACCELERATOR_BATCH))
    found: dict[str, NDArray[np.float32]] = {}

    def extract(turn: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            extractor.cache = ResultCache(folder)
            found["ours"] = extractor.features(pictures)

    def run_plain_loop(turn: int) -> None:
        found["plain"] = plain_features(pictures, extractor)

    def in_rows(work: Callable[[int], object]) -> Callable[[int], object]:
        return lambda _: _drain(in_threads(work, len(pictures), together=TOGETHER))

    works: dict[str, Callable[[int], object]] = {
        "read": in_rows(pictures.content),
        "read and hash": in_rows(pictures.digest),
        "decode, one thread": lambda _: _drain(
            decode_batches(pictures[:alone], size, workers=1)
        ),
        "decode": lambda _: _decode(pictures, size),
        "network": lambda _: _run_network(extractor, ready, len(pictures)),
        "whole": extract,
        "plain loop": run_plain_loop,
    }
    time_turns(works, 1)
    turns = time_turns(works, repeats, progress, "pictures")
    counts = {"decode, one thread": alone}
    return {
        "pictures": len(pictures),
        "network": image_network,
        "device": str(extractor.device),
        "threads": threads,
        "repeats": repeats,
        "pictures_per_second": {
            name: spread([counts.get(name, len(pictures)) / each for each in seconds])
            for name, seconds in turns.items()
        },
        "ratio": ratio(turns["plain loop"], turns["whole"]),
        "least_cosine": _least_cosine(found["ours"], found["plain"]),
    }


def plain_features(
    pictures: Pictures, extractor: FeatureExtractor
) -> NDArray[np.float32]:
    """Decode a batch in threads, compute it, then take the next; keep nothing."""
    size = extractor.network.size

    def open_picture(row: int) -> NDArray[np.uint8]:
        content = pictures.content(row)
        if isinstance(content, np.ndarray):
            picture = Image.fromarray(content)
        else:
            picture = Image.open(io.BytesIO(content))
        return np.asarray(picture.convert("RGB").resize((size, size)))

    batch = PLAIN_BATCH if extractor.device.type == "cpu" else ACCELERATOR_BATCH
    computed = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(pictures), batch):
            rows = range(start, min(start + batch, len(pictures)))
            pixels = torch.from_numpy(np.stack(list(pool.map(open_picture, rows))))
            features = extractor.network(pixels.to(extractor.device))
            computed.append(features.float().cpu().numpy())
    return np.concatenate(computed)


def _choose(images: Images, most: int) -> Pictures:
    if not isinstance(images, Pictures) or not images.present.any():
        raise DataError(
            "there are no pictures to decode in this data; give data with pictures, "
            "such as a manifest with a column 'image'."
        )
    return images[np.flatnonzero(images.present)[:most]]


def _decode(pictures: Pictures, size: int) -> None:
    _drain(decode_batches(pictures, size, ACCELERATOR_BATCH))


def _run_network(
    extractor: FeatureExtractor, ready: NDArray[np.uint8], count: int
) -> None:
    """Compute so many pictures from pixels that are there already."""
    if extractor.device.type == "cpu":
        pictures = PictureArray(ready, np.arange(count) % len(ready))
        _drain(extractor.compute_batches(pictures))
        return
    batch = torch.from_numpy(ready).to(extractor.device)
    for _ in range(math.ceil(count / len(ready))):
        features = extractor.network(batch)
    features.cpu()


def _least_cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(axis=1) / lengths).min())


def _drain(values: Iterable[object]) -> None:
    deque(values, maxlen=0)
