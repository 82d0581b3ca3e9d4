"""What settings mean, read from the docstrings that state it."""

import inspect
import re

_ENTRY = re.compile(r"^    (\w+): (.*)$")


def setting_descriptions(described: type) -> dict[str, str]:
    """Read "name: what it is" from the docstrings of a class and its bases."""
    descriptions: dict[str, str] = {}
    for base in reversed(described.__mro__):
        text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, arguments = text.partition("\nArgs:\n")
        name = ""
        for line in arguments.splitlines():
            if line and not line.startswith(" "):
                break
            if entry := _ENTRY.match(line):
                name = entry[1]
                descriptions[name] = entry[2]
            elif name and line.startswith("        "):
                descriptions[name] += " " + line.strip()
            else:
                name = ""
    return descriptions
