"""List the packages that fdch needs, with their versions and licences.

    python scripts/list_packages.py --sbom sbom.json           # CycloneDX 1.6
    python scripts/list_packages.py --licences licences.md
    python scripts/list_packages.py --extras serve,fast --licences -

Only what is installed here is listed, by what its own metadata says.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

SHOWN = 60  # letters of a licence; some packages put its whole text there


def main(arguments: list[str] | None = None) -> None:
    """Write what was chosen on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--extras", default="all", help="such as serve,fast")
    parser.add_argument("--sbom", metavar="FILE", help="write CycloneDX JSON")
    parser.add_argument("--licences", metavar="FILE", help="write a Markdown table")
    chosen = parser.parse_args(arguments)
    if not chosen.sbom and not chosen.licences:
        parser.error("give --sbom FILE, --licences FILE or both; - is the screen")
    packages = find_packages([f"fdch[{chosen.extras}]"])
    if chosen.sbom:
        _write(chosen.sbom, json.dumps(describe_bill(packages), indent=2))
    if chosen.licences:
        _write(chosen.licences, describe_licences(packages))


def find_packages(requirements: Iterable[str]) -> list[Distribution]:
    """Follow requirements to every installed package, sorted by name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(line) for line in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        each = waiting.pop()
        for extra in ("", *each.extras):
            key = (normalize(each.name), extra)
            if key in seen:
                continue
            seen.add(key)
            try:
                found[key[0]] = package = distribution(each.name)
            except PackageNotFoundError:
                continue
            inner = map(Requirement, package.requires or ())
            waiting += [
                line
                for line in inner
                if not line.marker or line.marker.evaluate({"extra": extra})
            ]
    return [found[name] for name in sorted(found)]


def describe_bill(packages: list[Distribution]) -> dict[str, Any]:
    """Return a CycloneDX document."""
    components = [
        {
            "type": "library",
            "bom-ref": _package_url(each),
            "name": each.metadata["Name"],
            "version": each.version,
            "purl": _package_url(each),
            "licenses": [{"license": {"name": find_licence(each)}}],
        }
        for each in packages
    ]
    [own] = [each for each in components if each["name"] == "fdch"]
    components.remove(own)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own | {"type": "application"}},
        "components": components,
    }


def describe_licences(packages: list[Distribution]) -> str:
    """Return a table in Markdown."""
    rows = [
        f"| {each.metadata['Name']} | {each.version} | {find_licence(each)} |"
        for each in packages
    ]
    return "\n".join(["| package | version | licence |", "| --- | --- | --- |", *rows])


def find_licence(package: Distribution) -> str:
    """Return the licence by its expression, its classifiers or its first line."""
    known = package.metadata
    if expression := known.get("License-Expression"):
        return str(expression)
    classes = [
        line.rpartition(" :: ")[2]
        for line in known.get_all("Classifier") or ()
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if classes:
        return ", ".join(classes)
    lines = [line.strip() for line in (known.get("License") or "").splitlines()]
    stated = [line for line in lines if line not in ("", "UNKNOWN")]
    first = next(iter(stated), "not stated")
    return first if len(first) <= SHOWN else first[: SHOWN - 1] + "…"


def normalize(name: str) -> str:
    """Return the form in which package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _package_url(package: Distribution) -> str:
    return f"pkg:pypi/{normalize(package.metadata['Name'])}@{package.version}"


def _write(name: str, text: str) -> None:
    if name == "-":
        sys.stdout.write(text + "\n")
    else:
        Path(name).write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
