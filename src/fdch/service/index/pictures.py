"""Pictures of indexed items, whole and small; their paths come from the index."""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fdch.data.pictures.decoding import PictureLimits, picture_format, shrink
from fdch.errors import BrokenPicture
from fdch.index.storage.files.layout import PARTIAL, sync_folder, write_durably
from fdch.index.store import Item
from fdch.service.http.limits import ServiceLimits
from fdch.service.http.problems import Problem, too_busy

# formats with their endings and, where browsers show them, their media types;
# the others are sent as a JPEG of at most _MAX_SIDE pixels a side
_FORMATS = {
    "JPEG": ("jpg", "image/jpeg"),
    "MPO": ("jpg", "image/jpeg"),
    "PNG": ("png", "image/png"),
    "WEBP": ("webp", "image/webp"),
    "GIF": ("gif", "image/gif"),
    "BMP": ("bmp", None),
    "TIFF": ("tif", None),
    "AVIF": ("avif", None),
    "HEIF": ("heic", None),
}
_MAX_SIDE = 4096
PART_BYTES = 2**17
_THUMBNAILS = 512  # kept in memory, the largest of some 200 kB
_KEPT_NAME = re.compile(r"[0-9a-f]{32}\.(jpg|png|webp|gif|bmp|tif|avif|heic)")
_REPORT = "Report it to whoever maintains the index"


class OpenPicture:
    """A picture's file, open until this object is gone, read as its client reads.

    `mark` changes when the file does.
    """

    def __init__(self, path: Path) -> None:
        self._file = -1
        try:
            # a pipe or a device must not make the thread wait
            flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
            self._file = os.open(path, flags)
            state = os.fstat(self._file)
        except (OSError, ValueError) as problem:
            if getattr(problem, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise too_busy("too many files are open.") from None
            raise _missing_picture() from None
        if not stat.S_ISREG(state.st_mode):
            raise _missing_picture()
        self.size = state.st_size
        identity = f"{path}\0{state.st_mtime_ns}\0{state.st_size}\0{state.st_ino}"
        digest = hashlib.sha256(identity.encode("utf-8", "replace"))
        self.mark = digest.hexdigest()[:32]

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def read(self, most: int) -> bytes:
        """Return the whole content, unless it is larger than `most` bytes."""
        if self.size > most:
            raise _missing_picture()
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """Return the content part by part; OSError where it has become shorter."""
        for offset in range(0, self.size, PART_BYTES):
            length = min(PART_BYTES, self.size - offset)
            part = os.pread(self._file, length, offset)
            if len(part) < length:
                raise OSError(errno.EIO, "the file has become shorter")
            yield part


@dataclass(frozen=True)
class ServedPicture:
    """A picture to send; without a media type if the client has it."""

    content: bytes | OpenPicture
    media_type: str
    etag: str


class ItemPictures:
    """Reads, shrinks and keeps pictures of items; threads may share one.

    Args:
        folder: Where uploaded pictures are kept; None where there is no place.
        limits: Of pixels, and of all uploads.
    """

    def __init__(self, folder: Path | None, limits: ServiceLimits) -> None:
        self.folder = folder
        self._quota = limits.upload_quota
        self._used = _used_bytes(folder) if self._quota else 0
        self._limits = PictureLimits(pixels=limits.picture_pixels)
        self.shrink = lru_cache(_THUMBNAILS)(self._shrink)

    def picture(self, item: Item, known: str | None = None) -> ServedPicture:
        """Return an item's picture in a format that browsers show.

        Args:
            item: Whose picture.
            known: Tags of what the client has; if current, no content is given.
        """
        file = OpenPicture(self._path(item))
        etag = f'"{file.mark}"'
        if has_tag(known, etag):
            return ServedPicture(b"", "", etag)
        content = file.read(self._limits.bytes)
        with _hide_details():
            found = picture_format(content, self._limits, "the picture")
            media_type = _FORMATS[found][1]
            if media_type is None:
                content = shrink(content, _MAX_SIDE, self._limits, "the picture")
                return ServedPicture(content, "image/jpeg", etag)
        # a client that reads slowly must not keep a large one in memory
        is_small = len(content) <= PART_BYTES
        return ServedPicture(content if is_small else file, media_type, etag)

    def thumbnail(
        self, item: Item, size: int, known: str | None = None
    ) -> ServedPicture:
        """Return a JPEG of an item's picture, its longer side at most size pixels."""
        path = self._path(item)
        mark = OpenPicture(path).mark
        etag = f'"{mark}-{size}"'
        if has_tag(known, etag):
            return ServedPicture(b"", "", etag)
        return ServedPicture(self.shrink(path, mark, size), "image/jpeg", etag)

    def _shrink(self, path: Path, mark: str, size: int) -> bytes:
        """Make a thumbnail of a file; its mark changes when the file does."""
        content = OpenPicture(path).read(self._limits.bytes)
        with _hide_details():
            return shrink(content, size, self._limits, "the picture")

    def place(self, name: str, content: bytes) -> Path:
        """Return the path to keep an item's picture at, named by its digest."""
        if self.folder is None:
            message = "this service has no folder for uploaded pictures."
            hint = "Run it with '--pictures FOLDER', or send texts only."
            raise Problem(409, "no_place_for_pictures", message, hint)
        found = picture_format(content, self._limits, "the picture")
        # the id is hashed too: so each file belongs to one item and goes with it
        digest = hashlib.blake2b(name.encode(), digest_size=16)
        digest.update(b"\0" + content)
        return self.folder / f"{digest.hexdigest()}.{_FORMATS[found][0]}"

    def keep(self, path: Path, content: bytes) -> None:
        """Write a picture to its place, whole and on disk, within the quota."""
        if not path.exists():
            if self._quota is not None and self._used + len(content) > self._quota:
                raise _over_quota(self._used, self._quota)
            path.parent.mkdir(exist_ok=True)
            sync_folder(path.parent.parent)
            write_durably(path, content)
            self._used += len(content)

    def uploaded_name(self, image: str | None) -> str | None:
        """Return the name of a picture's file, if it was uploaded to this folder."""
        if image is None or self.folder is None:
            return None
        path = Path(image)
        if not _KEPT_NAME.fullmatch(path.name):
            return None
        # an index that was moved has its uploaded pictures beside it still
        is_moved = not path.exists() and (self.folder / path.name).exists()
        return path.name if path.parent == self.folder or is_moved else None

    def drop(self, name: str) -> None:
        """Delete an uploaded file, whole or not; other names are left alone."""
        if self.folder is not None and _KEPT_NAME.fullmatch(name):
            path = self.folder / name
            self._used -= path.stat().st_size if path.exists() else 0
            path.unlink(missing_ok=True)
            (self.folder / (name + PARTIAL)).unlink(missing_ok=True)

    def _path(self, item: Item) -> Path:
        if item.image is None:
            hint = "Look at 'image' in the results: it is null for such items."
            raise Problem(404, "no_picture", "this item has no picture.", hint)
        name = self.uploaded_name(item.image)
        if name is None or self.folder is None:
            return Path(item.image)
        return self.folder / name


def has_tag(given: str | None, etag: str) -> bool:
    """Return whether If-None-Match names the current tag.

    >>> has_tag('W/"a", "b"', '"b"'), has_tag('"c"', '"b"'), has_tag("*", '"b"')
    (True, False, True)
    """
    tags = [each.strip().removeprefix("W/") for each in (given or "").split(",")]
    return tags == ["*"] or etag in tags


@contextmanager
def _hide_details() -> Iterator[None]:
    """Hide the details of errors about broken picture files."""
    try:
        yield
    except BrokenPicture:
        message = "the picture of this item cannot be shown: its file is broken."
        raise Problem(404, "broken_picture", message, f"{_REPORT}.") from None


def _used_bytes(folder: Path | None) -> int:
    if folder is None or not folder.is_dir():
        return 0
    files = os.scandir(folder)
    return sum(each.stat().st_size for each in files if _KEPT_NAME.fullmatch(each.name))


def _over_quota(used: int, quota: int) -> Problem:
    message = f"uploaded pictures take {used:,} of the {quota:,} bytes they may take."
    hint = "Remove items with uploaded pictures, or request a larger --upload-quota."
    return Problem(507, "quota_full", message, hint)


def _missing_picture() -> Problem:
    message = "the picture of this item was moved or deleted after indexing."
    hint = f"{_REPORT}; the item can still be found."
    return Problem(404, "picture_missing", message, hint)
