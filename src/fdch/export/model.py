"""ExportedModel: what `fdch export` wrote, encoding through ONNX Runtime.

EXPORT/export.json    what the graphs take and give; vocabulary, checksums
EXPORT/image.onnx     pixels, or ready features, to outputs
EXPORT/text.onnx      words, or ready vectors, to outputs
EXPORT/pair.onnx      both to outputs, where the method has unified codes

Nothing here needs torch.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fdch.codes import Codes, binarize
from fdch.data.conversion import as_images, as_texts
from fdch.data.fitting import fitting_vectors, require_fitting, split_static
from fdch.data.pictures.batches import decode_batches
from fdch.data.pictures.images import ImageFeatures, Images, Pictures
from fdch.data.static_words import restore_vocabulary
from fdch.data.texts import Texts, Vocabulary
from fdch.errors import DamagedRun, DataError, MissingExtra, RunError
from fdch.machine import usable_cores
from fdch.runs.run_files import read_versioned

FORMAT = 1
MANIFEST = "export.json"
SIDES = ("image", "text", "pair")
MAX_GRAPH_BYTES = 2**31
MAX_NAME = 500
MAX_REASON = 500  # characters of ONNX Runtime's messages
AGAIN = "Export the run again."
MAX_BITS = 32_767  # that can be scored
MAX_SIDE = 4096  # of pictures, in pixels: 50 MB each
MAX_WIDTH = 2**31
# so small that activations stay in a processor's cache
PICTURES_AT_A_TIME = 4
ROWS_AT_A_TIME = 1024
WORDS_AT_A_TIME = 2048  # a row of the hidden layer is fetched for each


@dataclass(frozen=True)
class ExportedInputs:
    """Turns pictures and words into numbers; see fdch.training.inputs.Inputs."""

    image_network: str  # name of the image network, or "features" for ready ones
    image_width: int  # its features, or columns of ready ones
    size: int | None  # rows and columns of pictures; None for ready features
    vocabulary: Vocabulary | None
    text_width: int  # columns of the text vectors, static ones included

    @property
    def static_width(self) -> int:
        """How many of the last text columns are static features, not words."""
        return 0 if self.vocabulary is None else self.vocabulary.static_width

    def images(self, images: Images, context: object = None) -> NDArray[Any]:
        """Return pixels, uint8 (n, size, size, 3), or ready features."""
        is_ready = self.size is None
        require_fitting(images, self.image_network, self.image_width, is_ready)
        if isinstance(images, ImageFeatures):
            return images.values
        assert isinstance(images, Pictures) and self.size is not None
        none = np.empty((0, self.size, self.size, 3), dtype=np.uint8)
        return np.concatenate([none, *decode_batches(images, self.size)])

    def texts(self, texts: Texts, *, remember: bool = True) -> csr_array:
        """Return text vectors, (n, text_width)."""
        return fitting_vectors(texts, self.vocabulary, self.text_width)


class ExportedModel:
    """A trained method as ONNX graphs, in memory.

    `ExportedModel.open("exported")` reads a folder; give it to a Searcher as its
    encoder, or encode with it alone: `model.encode_texts(["a dog"])`.

    Args:
        manifest: The content of export.json.
        graphs: The content of each side's file.
    """

    def __init__(
        self, manifest: Mapping[str, Any], graphs: Mapping[str, bytes]
    ) -> None:
        self.method = str(manifest["method"])[:MAX_NAME]
        self.fingerprint = str(manifest["model"])[:MAX_NAME]
        self.bits = _read_size(manifest, "bits", MAX_BITS)
        image, text = manifest["image"], manifest["text"]
        width, takes_pixels = _read_size(text, "width"), image["input"] == "pixels"
        self.inputs = ExportedInputs(
            image_network=str(image["network"])[:MAX_NAME],
            image_width=_read_size(image, "width"),
            size=_read_size(image, "size", MAX_SIDE) if takes_pixels else None,
            vocabulary=restore_vocabulary(text.get("words"), text.get("static"), width),
            text_width=width,
        )
        cores = usable_cores()
        # a text is a few microseconds of work: threads would only wait
        wanted = {"image": cores, "text": 1, "pair": cores}
        self._sessions = {
            side: _session(graph, wanted[side]) for side, graph in graphs.items()
        }

    @property
    def sides(self) -> tuple[str, ...]:
        """What can be encoded: "image", "text" and perhaps "pair"."""
        return tuple(self._sessions)

    @classmethod
    def open(cls, folder: str | Path) -> "ExportedModel":
        """Open an export under checks: version, names, checksums."""
        folder = Path(folder)
        if not (folder / MANIFEST).is_file():
            raise RunError(
                f"there is no export in '{folder}'. Make one with 'fdch export RUN "
                "--to onnx --out DIR', or check the path."
            )
        wrong = "does not describe an export"
        facts = read_versioned(folder / MANIFEST, FORMAT, wrong, AGAIN)
        try:
            graphs = {
                side: _read_graph(folder, side, about)
                for side, about in facts["sides"].items()
            }
            return cls(facts, graphs)
        except DataError:  # of the packaged embeddings, not of the export
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise DamagedRun(
                f"the export '{folder}' is damaged ({problem}). {AGAIN}"
            ) from problem

    def encode_images(self, images: Any) -> Codes:
        """Encode paths of picture files, pixels or features."""
        return binarize(self.image_outputs(self.inputs.images(as_images(images))))

    def encode_texts(self, texts: Any) -> Codes:
        """Encode strings or word vectors."""
        return binarize(self.text_outputs(self.inputs.texts(as_texts(texts))))

    def image_outputs(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Return real outputs of pixels or ready features, (n, bits)."""
        return self._run(
            "image", (self._image_feed(images[rows]) for rows in self._parts(images))
        )

    def text_outputs(self, texts: csr_array) -> NDArray[np.float32]:
        """Return real outputs of text vectors, (n, bits)."""
        words, _ = split_static(texts, self.inputs.static_width)
        parts = _text_parts(words)
        return self._run("text", (self._text_feed(texts[rows]) for rows in parts))

    def pair_outputs(
        self, images: NDArray[Any], texts: csr_array
    ) -> NDArray[np.float32]:
        """Return real outputs of whole pairs, (n, bits), for unified codes."""
        return self._run(
            "pair",
            (
                self._image_feed(images[rows]) | self._text_feed(texts[rows])
                for rows in self._parts(images)
            ),
        )

    def _run(
        self, side: str, feeds: Iterator[dict[str, NDArray[Any]]]
    ) -> NDArray[np.float32]:
        if side not in self._sessions:
            what = "unified codes" if side == "pair" else f"codes of {side}s"
            raise DataError(f"the export of '{self.method}' has no {what}.")
        parts = [self._run_part(side, feed) for feed in feeds]
        return np.concatenate([np.zeros((0, self.bits), np.float32), *parts])

    def _run_part(
        self, side: str, feed: dict[str, NDArray[Any]]
    ) -> NDArray[np.float32]:
        shape = len(next(iter(feed.values()))), self.bits
        try:
            [found] = self._sessions[side].run(None, feed)
            if found.shape != shape:
                raise ValueError(f"it gives outputs {found.shape}, not {shape}")
        except Exception as problem:  # ONNX Runtime raises many kinds
            reason = str(problem)[:MAX_REASON]
            raise DamagedRun(f"{side}.onnx cannot be run: {reason}. {AGAIN}") from None
        return np.asarray(found)

    def _image_feed(self, images: NDArray[Any]) -> dict[str, NDArray[Any]]:
        name = "features" if self.inputs.size is None else "pixels"
        return {name: np.ascontiguousarray(images)}

    def _text_feed(self, texts: csr_array) -> dict[str, NDArray[Any]]:
        if self.inputs.vocabulary is None:
            return {"vectors": texts.toarray().astype(np.float32, copy=False)}
        known, static = split_static(texts, self.inputs.static_width)
        lengths = np.diff(known.indptr)
        taken = np.arange(max(int(lengths.max(initial=0)), 1)) < lengths[:, None]
        words = np.zeros(taken.shape, np.int64)
        weights = np.zeros(taken.shape, np.float32)
        words[taken], weights[taken] = known.indices, known.data
        feed: dict[str, NDArray[Any]] = {"words": words, "weights": weights}
        return feed if static is None else {**feed, "static": static}

    def _parts(self, images: NDArray[Any]) -> Iterator[slice]:
        at_a_time = ROWS_AT_A_TIME if self.inputs.size is None else PICTURES_AT_A_TIME
        for start in range(0, len(images), at_a_time):
            yield slice(start, start + at_a_time)


def _read_size(facts: Mapping[str, Any], name: str, most: int = MAX_WIDTH) -> int:
    """Return a whole number of a manifest, from 1; any other is a ValueError."""
    found = facts[name]
    if type(found) is not int or not 1 <= found <= most:
        raise ValueError(f"its {name} is {str(found)[:40]}, not from 1 to {most:,}")
    return found


def _read_graph(folder: Path, side: str, about: Mapping[str, Any]) -> bytes:
    """Read a side's graph, if it is the one that was written."""
    if side not in SIDES:
        raise ValueError(f"it has an unknown side {side[:MAX_NAME]!r}")
    path = folder / f"{side}.onnx"  # by its side: no name leads elsewhere
    if not path.is_file():
        raise DamagedRun(f"'{path}' is missing. {AGAIN}")
    if path.stat().st_size != about["bytes"] or about["bytes"] > MAX_GRAPH_BYTES:
        raise ValueError(f"{path.name} has another size")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise ValueError(f"{path.name} has another checksum")
    return content


def _text_parts(texts: csr_array) -> Iterator[slice]:
    """Cut rows into parts of few words, however long a text is."""
    lengths = np.diff(texts.indptr)
    start = most = 0
    for row, length in enumerate(lengths.tolist()):
        most = max(most, length)
        if row > start and (row + 1 - start) * most > WORDS_AT_A_TIME:
            yield slice(start, row)
            start, most = row, length
    if len(lengths):
        yield slice(start, len(lengths))


def _session(graph: bytes, threads: int) -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingExtra("encoding with ONNX Runtime", "onnx") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # threads that wait by spinning crawl where other programs run too
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
    except Exception as problem:  # ONNX Runtime raises many kinds
        reason = str(problem)[:MAX_REASON]
        raise ValueError(f"a graph cannot be loaded: {reason}") from problem
