"""A folder for a model on its way from or to a server."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fdch.index.storage.drafts import clear_drafts, draft_of
from fdch.index.storage.layout import MODEL


@contextmanager
def passing_folder() -> Iterator[Path]:
    """Name a folder to make, gone at the end; those of killed processes go first."""
    temporary = Path(tempfile.gettempdir())
    clear_drafts(temporary)
    with draft_of(temporary / MODEL, secrets.token_hex(16)) as draft:
        draft.chmod(0o700)  # others may list the place it lies in
        yield draft / MODEL
