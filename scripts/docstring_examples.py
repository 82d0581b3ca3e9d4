"""An extension of griffe: examples in docstrings are shown as code."""

import re
from typing import Any

import griffe

# lines from >>> to the next empty one
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Put fences around examples that stand outside a section."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text that will be parsed as Markdown."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0]}\n```", text
            )
