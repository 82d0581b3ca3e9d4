"""A folder for a model on its way from or to a server."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fdch.index.storage.layout import MODEL
from fdch.index.storage.staging import clear_staging, staging_folder


@contextmanager
def passing_folder() -> Iterator[Path]:
    """Name a folder to make, gone at the end; those of killed processes go first."""
    temporary = Path(tempfile.gettempdir())
    clear_staging(temporary)
    with staging_folder(temporary / MODEL, secrets.token_hex(16)) as staging:
        staging.chmod(0o700)  # others may list the place it lies in
        yield staging / MODEL
