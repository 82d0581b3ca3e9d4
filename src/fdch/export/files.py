"""The files of an export, and their checks.

EXPORT/export.json    what the graphs take and give; vocabulary, checksums
EXPORT/image.onnx     pixels, or ready features, to outputs
EXPORT/text.onnx      words, or ready vectors, to outputs
EXPORT/pair.onnx      both to outputs, where the method has unified codes
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdch.errors import DamagedRun, NewerRun, RunError
from fdch.files import load_json

FORMAT = 1
MANIFEST = "export.json"
SIDES = ("image", "text", "pair")
MAX_MANIFEST_BYTES = 16 * 2**20
MAX_GRAPH_BYTES = 2**31


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check what describes an export."""
    path = folder / MANIFEST
    if not path.is_file():
        raise RunError(
            f"there is no export in '{folder}'. Make one with 'fdch export RUN "
            "--to onnx --out DIR', or check the path."
        )
    try:
        facts = load_json(path, MAX_MANIFEST_BYTES)
        if type(facts["format"]) is not int or facts["format"] < 1:
            raise ValueError(f"its format is {facts['format']!r}")
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DamagedRun(
            f"'{path}' does not describe an export ({problem}). Export the run again."
        ) from problem
    if facts["format"] > FORMAT:
        raise NewerRun(
            f"'{path}' has format {facts['format']}; formats up to {FORMAT} can be "
            "read. Upgrade fdch, or export the run again."
        )
    return facts


def read_graph(folder: Path, side: str, about: Mapping[str, Any]) -> bytes:
    """Read a side's graph, if it is the one that was written."""
    if side not in SIDES:
        raise ValueError(f"it has an unknown side {side!r}")
    path = folder / f"{side}.onnx"  # by its side: no name leads elsewhere
    if not path.is_file():
        raise DamagedRun(f"'{path}' is missing. Export the run again.")
    if path.stat().st_size != about["bytes"] or about["bytes"] > MAX_GRAPH_BYTES:
        raise ValueError(f"{path.name} has another size")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise ValueError(f"{path.name} has another checksum")
    return content
