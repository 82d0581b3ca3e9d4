"""The JSON file of a split, taken apart with suspicion."""

from pathlib import Path
from typing import Any

from fdch.data.readers.text_files import unreadable
from fdch.errors import DataError
from fdch.files import load_json

FORMAT = 1
_MAX_BYTES = 2**30
ADVICE = "Give the split.json of a run, or draw a new split."


def document(path: Path) -> dict[str, Any]:
    """Read the JSON of a split, of the format known here."""
    try:
        content = load_json(path, _MAX_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise DataError(f"'{path}' is not a split: {error}. {ADVICE}") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise DataError(
            f"'{path}' is not a split: it has no number for 'format'. {ADVICE}"
        )
    if content["format"] != FORMAT:
        raise DataError(
            f"split '{path}' has format {content['format']}; this version of fdch "
            f"reads format {FORMAT}. Update fdch, or draw a new split."
        )
    return content


def whole(value: object) -> int:
    """Take a whole number, or raise TypeError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number.")
    return value


def text(value: object) -> str:
    """Take a text, or raise TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text.")
    return value


def ids(value: object) -> tuple[str, ...]:
    """Take a list of texts, or raise TypeError."""
    if not isinstance(value, list):
        raise TypeError(f"ids are a list of texts; got {type(value).__name__}.")
    return tuple(text(name) for name in value)
