"""settings.toml: what `fdch tune` has chosen, and `fdch train --settings` takes."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fdch import __version__, methods
from fdch.data.rows import list_names
from fdch.errors import DataError, MissingFile, NewerRun, SettingError
from fdch.evaluation.documents import from_plain
from fdch.files import write_bytes
from fdch.methods._settings.assignments import configure, write_setting

FORMAT = 1
MAX_BYTES = 2**20
VALUES = (str, int, float)  # and bool, which is an int
ADVICE = "Give a file that 'fdch tune' wrote."


@dataclass(frozen=True)
class SettingsFile:
    """Settings of a method, and where they come from."""

    method: str
    bits: int  # length of the codes that they were found for
    seed: int  # of the split, the folds and learning
    settings: Mapping[str, Any]  # those that differ from the method's defaults
    # name and fingerprint, and the split's
    data: Mapping[str, Any] = field(default_factory=dict)
    # scores, folds, trials and time
    search: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""  # the outcome, in a sentence

    def as_text(self) -> dict[str, str]:
        """Return the settings as they are written on a command line."""
        return {name: write_setting(value) for name, value in self.settings.items()}

    def save(self, path: Path) -> None:
        """Write the file whole or not at all."""
        head = {
            "format": FORMAT,
            "version": __version__,
            "method": self.method,
            "bits": self.bits,
            "seed": self.seed,
            "remark": self.remark,
        }
        tables = {"settings": self.settings, "data": self.data, "search": self.search}
        parts = [
            "# Written by fdch tune. Take it with: fdch train DATA --settings FILE"
        ]
        parts += [_line(name, value) for name, value in head.items()]
        for table, values in tables.items():
            parts += ["", f"[{table}]"]
            parts += [_line(name, value) for name, value in values.items()]
        text = "\n".join([*parts, ""])
        content = text.encode("utf-8", errors="replace")
        write_bytes(path, content)

    @classmethod
    def read(cls, path: Path) -> "SettingsFile":
        """Read a file under checks; its settings fit the method it names."""
        if not path.exists():
            raise MissingFile(f"there is no settings file '{path}'; check the path.")
        try:
            found = from_plain(cls, _read_document(path), "the file")
            strange = [
                k for k, v in found.settings.items() if not isinstance(v, VALUES)
            ]
            if strange:
                raise SettingError(f"no value to set: {list_names(strange)}.")
            configure(methods.load(found.method), found.as_text(), bits=found.bits)
        except (DataError, SettingError) as problem:
            raise SettingError(
                f"settings file '{path}' cannot be used: {problem} {ADVICE}"
            ) from problem
        return found


def _read_document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has over {MAX_BYTES:,} bytes")
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise SettingError(f"it cannot be read ({problem}).") from problem
    form = document.get("format")
    if type(form) is not int or form < 1:
        raise SettingError("it is not a settings file.")
    if form > FORMAT:
        raise NewerRun(
            f"settings file '{path}' has format {form}; this version of fdch reads "
            f"formats up to {FORMAT}. Upgrade fdch to take it."
        )
    return document


def _line(name: str, value: Any) -> str:
    r"""Write one entry.

    >>> _line("word_dropout", 0.2), _line("remark", "a \"b\"")
    ('word_dropout = 0.2', 'remark = "a \\"b\\""')
    """
    if isinstance(value, bool):
        return f"{name} = {str(value).lower()}"
    if isinstance(value, int | float):
        return f"{name} = {value!r}"
    # strings of TOML are those of JSON, but for this one character
    text = json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = {text}"
