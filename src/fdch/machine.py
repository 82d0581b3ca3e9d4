"""What this process has used of the machine, and what is left to use."""

import os
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")
_MACHINE = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def peak_memory() -> int | None:
    """Return the most memory this process has held, in bytes, where it is known."""
    held = _kilobytes(_STATUS, "VmHWM")
    if held is not None:
        return held
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak_memory() -> None:
    """Let `peak_memory` count from now on, where the system can."""
    with suppress(OSError):
        _FORGET.write_text("5")


def available_memory() -> int | None:
    """Return the bytes that can still be used, by the machine and any container."""
    free = _kilobytes(_MACHINE, "MemAvailable")
    if free is None:
        return None
    with suppress(OSError, ValueError):  # no container, or one without a limit
        most = int((_GROUP / "memory.max").read_text())
        free = min(free, most - int((_GROUP / "memory.current").read_text()))
    return max(free, 0)


def usable_cores() -> int:
    """Count the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _kilobytes(file: Path, name: str) -> int | None:
    """Read one line of the system's, such as "VmHWM:  1234 kB", in bytes."""
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None
