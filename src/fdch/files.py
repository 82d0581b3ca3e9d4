"""Files written whole or not at all; JSON read under a limit; hashes of both."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from fdch.errors import FdchError, RunError


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document whole or not at all."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes whole or not at all."""
    write_whole(path, lambda partial: partial.write_bytes(content))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write under a temporary name, flush to disk, then rename.

    Processes may write the same file at once: each has a temporary file of its own.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        write(partial)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    except FdchError:  # of whatever is written; some are an OSError too
        raise
    except (OSError, SafetensorError) as problem:
        # without the path, which would name the temporary file
        reason = getattr(problem, "strerror", None) or problem
        raise RunError(
            f"'{path}' could not be written: {reason}. "
            "Check the folder's permissions and the free space."
        ) from problem
    finally:
        with suppress(OSError):
            partial.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RunError(
            f"'{folder}' cannot be made ({problem.strerror or problem}). "
            "Choose another folder."
        ) from problem


def load_json(path: Path, max_bytes: int) -> Any:
    """Read a JSON document.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large, nested too deep or no JSON.
    """
    if path.stat().st_size > max_bytes:
        raise ValueError(f"it has over {max_bytes:,} bytes")
    try:
        return json.loads(path.read_text("utf-8"))
    except RecursionError as problem:
        raise ValueError("it is nested too deep") from problem


def fingerprint(document: Any) -> str:
    """Return the hash of a JSON document, whatever the order of its members.

    >>> fingerprint({"bits": 16, "seed": 0}) == fingerprint({"seed": 0, "bits": 16})
    True
    """
    text = json.dumps(document, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def checksum(path: Path) -> dict[str, Any]:
    """Return the length and the hash of a file."""
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16))
    return {"bytes": path.stat().st_size, "blake2b": digest.hexdigest()}
