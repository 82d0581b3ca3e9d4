"""Settings given as text, checked against a method's own fields."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

from fdch.errors import SettingError, suggestion
from fdch.files import checksum
from fdch.methods._base import HashMethod
from fdch.methods._settings.checks import find_mismatch, plain_kind
from fdch.methods._settings.space import Choice, Range

AUTO = "auto"  # how a setting that the data decides is written
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def setting_names(method: type[HashMethod]) -> list[str]:
    """List the settings of a method that may be changed, in order."""
    return [field.name for field in fields(method) if field.init]


def search_space(method: type[HashMethod]) -> dict[str, Range | Choice]:
    """Return what `fdch tune` may change, without what a variant holds at one value."""
    names = setting_names(method)
    return {name: each for name, each in method.search_space.items() if name in names}


def identifying(method: HashMethod) -> dict[str, Any]:
    """Return all settings of a method, a file of weights by what is in it.

    Its path would distinguish a file from its own copy, but not from another file
    that was put in its place.
    """
    settings = asdict(method)
    weights = Path(method.image_weights)
    # one that is not there is refused where it is needed
    if weights.is_file():
        settings["image_weights"] = checksum(weights)["blake2b"]
    return settings


def write_setting(value: Any) -> str:
    """Write a setting as it is written on a command line.

    >>> write_setting(True), write_setting(0.5), write_setting(None)
    ('true', '0.5', 'auto')
    """
    if value is None:
        return AUTO
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_assignments(assignments: Sequence[str]) -> dict[str, str]:
    """Split "key=value" texts, the later of two with one key winning."""
    wrong = [
        text
        for text in assignments
        if "=" not in text or not text.partition("=")[0].strip()
    ]
    if wrong:
        raise SettingError(
            f"settings are written key=value; got {', '.join(map(repr, wrong))}."
        )
    pairs = (text.split("=", 1) for text in assignments)
    return {key.strip(): value.strip() for key, value in pairs}


def configure(
    method: type[HashMethod], settings: Mapping[str, str], **given: Any
) -> HashMethod:
    """Make a method from settings in text form.

    "preset" chooses one of the method's presets, on top of which the others count. Bits
    and seed and their like are given with their type.

    Raises:
        SettingError: Naming every unknown setting and every unfit value at once.
    """
    remaining = dict(settings)
    preset = remaining.pop("preset", None)
    values, problems = _parse(method, remaining)
    if preset is not None and preset not in method.presets:
        known = ", ".join(method.presets) or "none"
        near = suggestion(preset, method.presets) or f"; this method has: {known}."
        problems.append(f"unknown preset '{preset}'{near}")
    if problems:
        raise SettingError(" ".join(problems))
    names = setting_names(method)
    preset_values = method.presets[preset] if preset else {}
    chosen = {key: value for key, value in preset_values.items() if key in names}
    return method(**{**chosen, **given, **values})


def _parse(
    method: type[HashMethod], settings: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    known = setting_names(method)
    types = get_type_hints(method)
    values: dict[str, Any] = {}
    problems = []
    for name, text in settings.items():
        if name not in known:
            near = suggestion(name, known) or f"; there are: {', '.join(known)}."
            problems.append(f"unknown setting '{name}'{near}")
            continue
        values[name] = _convert(text, types[name])
        expected = find_mismatch(values[name], types[name], unset=AUTO)
        if expected:
            problems.append(f"setting {name}={text}: expected {expected}.")
    return values, problems


def _convert(text: str, kind: Any) -> Any:
    """Read a value; a text that is none of its kind is left as it is."""
    kind, may_be_open = plain_kind(kind)
    if may_be_open and text.lower() == AUTO:
        return None
    if kind is bool:
        return TRUTH.get(text.lower(), text)
    if kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
