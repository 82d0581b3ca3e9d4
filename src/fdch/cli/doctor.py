"""`fdch doctor`: what this installation has, and what it lacks."""

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from fdch import __version__
from fdch.cli.shared import options
from fdch.cli.shared.output import lay_out, report

# such as: torch>=2.6; extra == 'train'
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,]+)\])?[^;]*;.*extra == ['\"](\w+)['\"]")


@options.command("doctor", "fdch doctor")
@options.json
def command(as_json: bool) -> None:
    """Show versions, the device, the cache and what each extra lacks."""
    from fdch.data.cache import default_folder, measure_cache
    from fdch.machine import available_memory, usable_cores

    files, size = measure_cache(default_folder())
    extras = find_missing(requires("fdch") or [])
    document = {
        "fdch": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": usable_cores(),
        "free_memory": available_memory(),
        "packages": {name: _find_version(name) for name in ("numpy", "scipy", "torch")},
        "device": _describe_device(),
        "cache": {"folder": str(default_folder()), "files": files, "bytes": size},
        "missing": extras,
    }
    report(document, as_json, *_show(document))


def find_missing(requirements: list[str]) -> dict[str, list[str]]:
    """List the packages that each extra needs and that are not installed."""
    missing: dict[str, list[str]] = {}
    inner: dict[str, list[str]] = {}  # extras that an extra takes in
    for line in requirements:
        if not (found := _REQUIREMENT.match(line)):
            continue
        name, extras, extra = found.groups()
        packages = missing.setdefault(extra, [])
        if name == "fdch":
            inner.setdefault(extra, []).extend(extras.split(","))
        elif _find_version(name) is None:
            packages.append(name)
    return {extra: sorted(_collect(extra, missing, inner)) for extra in missing}


def _collect(
    extra: str, missing: dict[str, list[str]], inner: dict[str, list[str]]
) -> set[str]:
    own = set(missing.get(extra, ()))
    return own.union(*(_collect(each, missing, inner) for each in inner.get(extra, ())))


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _describe_device() -> str | None:
    if _find_version("torch") is None:
        return None
    from fdch.networks.device import describe_device

    return describe_device()


def _show(document: dict[str, Any]) -> list[str]:
    cache, memory = document["cache"], document["free_memory"]
    rows = [
        ("fdch", document["fdch"]),
        ("Python", f"{document['python']} on {document['system']}"),
        *((name, found or "missing") for name, found in document["packages"].items()),
        ("device", document["device"] or "unknown: torch is not installed"),
        ("cores", document["cores"]),
        ("free memory", "unknown" if memory is None else f"{memory / 2**30:.1f} GiB"),
        ("cache", f"{cache['bytes'] / 2**20:,.1f} MiB in {cache['folder']}"),
    ]
    extras = [
        (name, f"lacks {', '.join(packages)}" if packages else "installed")
        for name, packages in document["missing"].items()
    ]
    return [
        lay_out(("what", "found"), rows),
        "",
        lay_out(
            ("extra", "state"), extras, ("Install one with: pip install 'fdch[NAME]'",)
        ),
    ]
