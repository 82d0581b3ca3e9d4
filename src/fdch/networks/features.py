"""Features of frozen image networks, computed once per picture and network.

Results are kept in the cache folder by the picture's content and the network's
fingerprint, so a second run, another split or a renamed file decodes nothing.
"""

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fdch.data.cache import NothingKept, ResultCache
from fdch.data.pictures.batches import decode_batches
from fdch.data.pictures.images import ImageFeatures, Images, Pictures
from fdch.data.rows import TOGETHER, in_threads
from fdch.errors import BrokenPicture, DataError
from fdch.networks.device import resolve_device
from fdch.networks.image import FrozenNetwork, load_frozen
from fdch.progress import Progress, Update, silent

# to be raised when decoding or scaling changes what a network sees
REVISION = b"features 1 "
# kept so small that a batch's activations stay in a processor's cache
PROCESSOR_BATCH = 4
ACCELERATOR_BATCH = 256
# pictures decoded while an accelerator starts: 1.2 GB at 224 pixels
DECODED_AHEAD = 8192
# what an interruption can lose
KEPT_AT_ONCE = 512


class FeatureExtractor:
    """A frozen image network, by its name, with the cache of what it has computed.

    Without a file of weights it takes the packaged ones; without a device, the best
    there is; without a cache, the user's cache folder.
    """

    def __init__(
        self,
        name: str,
        weights: Path | None = None,
        *,
        device: torch.device | str | None = None,
        cache: ResultCache | None = None,
    ) -> None:
        self.device = resolve_device("auto" if device is None else str(device))
        changed = None if weights is None else _change_time(weights)
        self.network = _load_network(name, weights, changed, self.device)
        self.cache = ResultCache() if cache is None else cache
        self._waking: Future[Tensor] | None = None  # of an accelerator

    def features(
        self, images: Images, progress: Progress = silent
    ) -> NDArray[np.float32]:
        """Return the features of all rows, (rows, width); ready ones as they are."""
        if isinstance(images, ImageFeatures):
            return images.values
        pictures = _all_present(images)
        if len(pictures) and not self.cache.get_many(self._keys(pictures[:1])):
            self._wake(len(pictures))
        keys = self._keys(pictures)
        # equal pictures share the row of the first of them
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        values = np.empty((len(pictures), self.network.width), dtype=np.float32)
        missing = self._fill_known(values, first)
        done = len(first) - len(missing)
        progress(Update("image features", done, len(first), "picture"))
        for finished in self._compute(pictures, keys, missing, values):
            done += finished
            progress(Update("image features", done, len(first), "picture"))
        return values[[first[key] for key in keys]]

    def _keys(self, pictures: Pictures) -> list[bytes]:
        prefix = REVISION + bytes.fromhex(self.network.fingerprint)
        digests = in_threads(pictures.digest, len(pictures), together=TOGETHER)
        return [prefix + digest for digest in digests]

    def _fill_known(
        self, values: NDArray[np.float32], first: dict[bytes, int]
    ) -> NDArray[np.intp]:
        """Copy kept features into their rows; give the rows without any."""
        keys, missing = list(first), []
        for start in range(0, len(keys), KEPT_AT_ONCE):
            some = keys[start : start + KEPT_AT_ONCE]
            kept = self.cache.get_many(some)
            for key in some:
                if len(kept.get(key, b"")) == values[0].nbytes:
                    values[first[key]] = np.frombuffer(kept[key], dtype="<f4")
                else:
                    missing.append(first[key])
        return np.sort(np.array(missing, dtype=np.intp))

    def _compute(
        self,
        pictures: Pictures,
        keys: list[bytes],
        rows: NDArray[np.intp],
        values: NDArray[np.float32],
    ) -> Iterator[int]:
        """Fill rows of values and keep them; give how many after each batch."""
        done = kept = 0
        with ThreadPoolExecutor(1) as writer:  # a slow disk holds nothing up
            try:
                for features in self.compute_batches(pictures[rows]):
                    values[rows[done : done + len(features)]] = features
                    done += len(features)
                    if done - kept >= KEPT_AT_ONCE:
                        writer.submit(self._keep, keys, rows[kept:done], values)
                        kept = done
                    yield len(features)
            finally:
                # also where a broken picture or the user ends the work
                writer.submit(self._keep, keys, rows[kept:done], values).result()

    def compute_batches(self, pictures: Pictures) -> Iterator[NDArray[np.float32]]:
        """Decode and compute all rows, a batch at a time, whatever is kept."""
        if self.device.type == "cpu" and len(pictures) > PROCESSOR_BATCH:
            return self._batches_in_threads(pictures)
        return self._batches_ahead(pictures)

    def _batches_ahead(self, pictures: Pictures) -> Iterator[NDArray[np.float32]]:
        """Decode in threads while the device starts, or computes the batch before."""
        size, batch = self.network.size, min(ACCELERATOR_BATCH, len(pictures))
        batches = decode_batches(pictures, size, batch, ahead=DECODED_AHEAD)
        running: Tensor | None = None
        problem: BrokenPicture | None = None
        self._wake(len(pictures))
        with closing(batches):
            try:
                for pixels in batches:
                    if self._waking is not None:
                        self._waking.result()
                    started = self._start(pixels, batch)
                    if running is not None:
                        yield running.cpu().numpy()
                    running = started
            except BrokenPicture as error:
                problem = error  # of a later batch than the one that is running
        if running is not None:
            yield running.cpu().numpy()
        if problem is not None:
            raise problem

    def _wake(self, pictures: int) -> None:
        """Start an accelerator in a thread if there are many pictures for it."""
        batch, size = ACCELERATOR_BATCH, self.network.size
        if self.device.type == "cpu" or pictures <= batch or self._waking is not None:
            return
        blank = np.zeros((batch, size, size, 3), np.uint8)
        thread = ThreadPoolExecutor(1)
        self._waking = thread.submit(self._start, blank, batch)
        thread.shutdown(wait=False)

    def _batches_in_threads(self, pictures: Pictures) -> Iterator[NDArray[np.float32]]:
        """Decode and compute whole batches in threads, one core to a batch.

        Splitting each layer between cores instead would make them wait for each
        other, many times as long as they work where other programs run too.
        """
        threads = torch.get_num_threads()

        def work(number: int) -> NDArray[np.float32]:
            torch.set_num_threads(1)  # of this thread, and of threads yet to start
            start = number * PROCESSOR_BATCH
            rows = range(start, min(start + PROCESSOR_BATCH, len(pictures)))
            size = self.network.size
            pixels = np.stack([pictures.decode(row, size) for row in rows])
            return self._start(pixels, len(pixels)).numpy()

        try:
            batches = math.ceil(len(pictures) / PROCESSOR_BATCH)
            yield from in_threads(work, batches, threads)
        finally:
            torch.set_num_threads(threads)

    def _start(self, pixels: NDArray[np.uint8], batch: int) -> Tensor:
        """Return the features of a batch, which an accelerator may still compute.

        The last batch is filled up: libraries prepare each size of batch for a second.
        """
        planes = torch.from_numpy(pixels).to(self.device)
        missing = batch - len(planes)
        if missing:
            planes = torch.cat([planes, planes.new_zeros(missing, *planes.shape[1:])])
        return self.network.to(self.device)(planes)[: len(pixels)].float()

    def _keep(
        self, keys: list[bytes], rows: NDArray[np.intp], values: NDArray[np.float32]
    ) -> None:
        kept = {keys[row]: values[row].astype("<f4").tobytes() for row in rows}
        self.cache.put_many(kept)


def frozen_features(
    name: str,
    weights: Path | None,
    images: Images,
    progress: Progress = silent,
    device: torch.device | str | None = None,
    remember: bool = True,
    expected: str = "",
) -> NDArray[np.float32]:
    """Return features, (rows, width), loading the network only for pictures.

    All rows must have an image. With `remember`, features are kept in the user's cache
    folder. `expected` is the fingerprint that the network must have; empty for any.
    """
    if isinstance(images, ImageFeatures):
        return images.values
    cache = None if remember else NothingKept()
    extractor = FeatureExtractor(name, weights, device=device, cache=cache)
    if expected not in ("", extractor.network.fingerprint):
        raise DataError(
            f"the image network '{name}' is not the one that this model was trained "
            "with: its weights, its size or its scaling of pixels have changed. "
            "Restore it, or train the model again."
        )
    return extractor.features(images, progress)


@lru_cache(maxsize=1)
def _load_network(
    name: str, weights: Path | None, changed: int | None, device: torch.device
) -> FrozenNetwork:
    """Load a network for a device, or return the last one: queries must not wait.

    It is moved to the device when that is first used: starting an accelerator takes
    seconds, in which pictures can be decoded.
    """
    return load_frozen(name, weights)


def _change_time(weights: Path) -> int | None:
    return weights.stat().st_mtime_ns if weights.exists() else None


def _all_present(images: Images) -> Pictures:
    if not isinstance(images, Pictures):
        raise DataError(f"cannot decode {type(images).__name__}; expected pictures.")
    absent = np.flatnonzero(~images.present)
    if len(absent):
        raise DataError(
            f"{len(absent)} of {len(images)} rows have no picture, the first is row "
            f"{absent[0]}; choose rows by 'present'."
        )
    return images
