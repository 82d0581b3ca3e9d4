"""Which program encodes queries: torch, or ONNX Runtime."""

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from fdch import __version__
from fdch.data.cache import EXPORTS, default_folder
from fdch.errors import RunError
from fdch.export.model import ExportedModel
from fdch.retrieval.index import Index
from fdch.retrieval.ordering import find_ordering
from fdch.runs.run import Run

logger = logging.getLogger(__name__)
TORCH, ONNX = "torch", "onnx"


def open_encoder(index: Index, name: str | Path) -> ExportedModel | None:
    """Open what a Searcher takes as its encoder of an index's queries.

    "torch" is the index's own method, hence None; "onnx" is its export, made by
    another process and kept in the cache; any other name is the folder of an export
    that `fdch export` wrote.
    """
    if name == TORCH:
        return None
    found = _open_own_export(index) if name == ONNX else ExportedModel.open(name)
    if index.store.vector_bytes and find_ordering(found) is None:
        logger.warning(
            "this encoder makes codes only: results are not ordered by the vectors of "
            "the index, as they are with --encoder torch."
        )
    return found


def export_queries(run: Run) -> ExportedModel:
    """Export what encodes queries, in memory: the image side and the text side."""
    from fdch.export.onnx_files import graphs, manifest

    found = graphs(run.method, ("image", "text"))
    return ExportedModel(manifest(run, found), found)


def _open_own_export(index: Index) -> ExportedModel:
    model = index.model.fingerprint
    kept = default_folder() / EXPORTS / f"{model}-{_hash_exporter()}"
    with suppress(RunError):  # there is none, or it is damaged
        found = ExportedModel.open(kept)
        if found.fingerprint == model:
            return found
    with tempfile.TemporaryDirectory(prefix=".making-", dir=_staging(kept)) as place:
        made = Path(place) / "export"
        _export(index.store.model_folder(), made)
        with suppress(OSError):  # losing what is kept costs time, never a result
            for old in kept.parent.glob(f"{model}-*"):
                shutil.rmtree(old, ignore_errors=True)
            os.rename(made, kept)
        return ExportedModel.open(made if made.exists() else kept)


def _staging(kept: Path) -> Path | None:
    """Return a folder on the disk of the cache, or None if it cannot be written."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return kept.parent if os.access(kept.parent, os.W_OK | os.X_OK) else None


def _export(run: Path, out: Path) -> None:
    words = [sys.executable, "-m", "fdch.export", str(run), str(out)]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RunError(done.stderr.strip() or "the export failed without a message.")


def _hash_exporter() -> str:
    """Hash the code that exports, so that another version makes its own."""
    digest = hashlib.blake2b(__version__.encode(), digest_size=8)
    sources = (each for each in files("fdch.export").iterdir() if each.is_file())
    for source in sorted(sources, key=lambda each: each.name):
        digest.update(source.read_bytes())
    return digest.hexdigest()
