"""Unfinished training on disk, so that it can go on to the same result."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fdch.errors import DamagedRun, RunError
from fdch.files import write_whole

FORMAT = "1"
FIRST_WAIT = 5.0  # seconds; who interrupts often does so early
UNREADABLE = (SafetensorError, OSError, KeyError, ValueError, RecursionError)


@dataclass
class Checkpoints:
    """Named checkpoints in a folder, bound to one training task.

    The first saves of each name come sooner than `seconds`: after 5 seconds, 10 more,
    20 more and so on.
    """

    folder: Path  # where the files lie; made when first needed
    task: str  # fingerprint of data and settings; checkpoints of others are refused
    seconds: float = 60.0  # between two saves that are not final, at least
    _last: float = field(default_factory=lambda: time.monotonic(), repr=False)
    _saves: Counter[str] = field(default_factory=Counter, repr=False)

    def due(self, name: str) -> bool:
        """Return whether enough time has passed since the last save."""
        wait = min(self.seconds, FIRST_WAIT * 2.0 ** min(self._saves[name], 32))
        return time.monotonic() - self._last >= wait

    def save(
        self, name: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
    ) -> None:
        """Write a checkpoint whole or not at all."""
        metadata = {"format": FORMAT, "task": self.task, "facts": json.dumps(facts)}
        plain = {
            key: value.detach().cpu().contiguous() for key, value in tensors.items()
        }

        def write(partial: Path) -> None:
            self.folder.mkdir(parents=True, exist_ok=True)
            save_file(plain, partial, metadata=metadata)

        write_whole(self._path(name), write)
        self._last = time.monotonic()
        self._saves[name] += 1

    def load(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Read a checkpoint of this task, or None where there is none."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            tensors, form, task, facts = _read(path)
        except UNREADABLE as problem:
            raise DamagedRun(
                f"checkpoint '{path}' cannot be read ({problem}). "
                "Delete it to train from the beginning."
            ) from problem
        if form != FORMAT:
            raise RunError(
                f"checkpoint '{path}' has format {form}; this version of fdch goes on "
                f"from format {FORMAT}. Delete it to train from the beginning."
            )
        if task != self.task:
            raise RunError(
                f"checkpoint '{path}' belongs to other data or settings "
                f"({task}, not {self.task}). Resume with the same command, or train "
                "into another folder."
            )
        return tensors, facts

    def clear(self) -> None:
        """Delete every checkpoint, once the result itself is saved."""
        if self.folder.exists():
            for file in self.folder.iterdir():
                file.unlink()
            self.folder.rmdir()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


def _read(path: Path) -> tuple[dict[str, Tensor], str, str, dict[str, Any]]:
    """Return a checkpoint's tensors, format, task and facts."""
    with safe_open(path, framework="pt") as opened:
        metadata = opened.metadata() or {}
        tensors = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
    facts = json.loads(metadata["facts"])
    if not isinstance(facts, dict):
        raise ValueError("its facts have no names")
    return tensors, metadata["format"], metadata["task"], facts
