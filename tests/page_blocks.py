"""The code blocks of the pages, and the marks of those that are not run.

A mark is a comment on the line before a block, which the rendered page does not show:
`<!-- not run: takes hours -->` or `<!-- run by tests/test_contributing.py -->`.
"""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").glob("*.md")),
]
EXECUTABLE = {"sh", "python", "html"}
SHOWN = {"text", "csv", "toml", "yaml"}
REASONS = {
    "downloads a model",
    "installs packages",
    "needs a data set from elsewhere",
    "needs a package of your own",
    "needs a Ray cluster",
    "needs an NVIDIA GPU",
    "needs Docker",
    "needs the system's own folders",
    "takes hours",
    "takes minutes",
}
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>(?:not )?run\b[^\n]*) -->\n)?"
    r"^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<code>.*?)^(?P=indent)```$\n?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block; `mark` is empty if it is to be run."""

    language: str
    code: str
    mark: str


def read_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    return [
        Block(one["language"], textwrap.dedent(one["code"]), one["mark"] or "")
        for one in BLOCK.finditer(text)
    ]


def find_faults(text: str) -> list[str]:
    """Return what is wrong with the blocks of a page, and with their marks."""
    faults = []
    for language, code, mark in read_blocks(text):
        name = f"```{language} {code.splitlines()[0]}"
        if language not in EXECUTABLE | SHOWN:
            faults.append(f"{name}: unknown language")
        elif mark and language in SHOWN:
            faults.append(f"{name}: is never run and needs no mark")
        elif mark.removeprefix("not run: ") not in REASONS | {""}:
            _, _, path = mark.partition("run by ")
            if not (path and (ROOT / path).is_file()):
                faults.append(f"{name}: '{mark}' is not a known reason")
    rest = BLOCK.sub("\n", text)
    faults += [f"without a fence: {one}" for one in re.findall(r"\n\n {4,}(.+)", rest)]
    faults += [f"before no block: {one}" for one in re.findall("<!-- .*run.*", rest)]
    return faults + (["a fence without an end"] if "```" in rest else [])
