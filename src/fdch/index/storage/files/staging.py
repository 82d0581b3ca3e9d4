"""Staging folders: hidden, locked while an index is made in them, else removed.

A maker writes its name into the lock once it holds it. So a lock with a name in it
that can be taken is one whose maker has died. A folder without one may be a second
old, and is left alone for an hour.
"""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fdch.errors import IndexBusy
from fdch.index.storage.files.layout import LOCK
from fdch.index.storage.files.locking import WriterLock

_PREFIX = ".fdch-index-"
_NAME = re.compile(re.escape(_PREFIX) + "[0-9a-f]{32}")
_UNLOCKED_SECONDS = 3600


@contextmanager
def staging_folder(target: Path, uid: str) -> Iterator[Path]:
    """Make a locked folder beside a target; it is gone at the end if not renamed."""
    staging = target.with_name(_PREFIX + uid)
    staging.mkdir()
    try:
        with WriterLock(staging):
            yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def clear_staging(folder: Path) -> None:
    """Remove from a folder what makers that were killed have left in it."""
    with suppress(OSError):  # such as a folder that may not be listed
        for path in list(folder.iterdir()):
            with suppress(OSError, IndexBusy):
                if _NAME.fullmatch(path.name) and _is_left(path):
                    with WriterLock(path):
                        shutil.rmtree(path, ignore_errors=True)


def _is_left(staging: Path) -> bool:
    """Return whether a folder is ours, and nobody is about to lock it."""
    known = staging.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
        return False
    with suppress(FileNotFoundError):
        if (staging / LOCK).lstat().st_size:
            return True
    return time.time() - known.st_mtime > _UNLOCKED_SECONDS
