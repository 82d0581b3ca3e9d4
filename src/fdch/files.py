"""Files written whole or not at all, and their checksums."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from fdch.errors import RunError


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document whole or not at all."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, lambda partial: partial.write_text(text, "utf-8"))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write under a temporary name, flush to disk, then rename."""
    partial = path.with_name(path.name + ".partial")
    try:
        write(partial)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    except (OSError, SafetensorError) as problem:
        raise RunError(
            f"'{path}' could not be written: {problem}. "
            "Check the folder's permissions and the free space."
        ) from problem
    finally:
        with suppress(OSError):
            partial.unlink()


def checksum(path: Path) -> dict[str, Any]:
    """Give the length and the hash of a file."""
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16))
    return {"bytes": path.stat().st_size, "blake2b": digest.hexdigest()}
