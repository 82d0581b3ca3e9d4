"""`python -m fdch.export RUN OUT`: what encodes queries, as graphs.

Run by `fdch.retrieval.encoders`, so that only this process imports torch.
"""

import sys
from pathlib import Path

from fdch.errors import FdchError
from fdch.export.onnx_files import export_run
from fdch.runs.run import open_run
from fdch.training.context import Context


def main() -> None:
    """Export the image side and the text side of a run."""
    run, out = map(Path, sys.argv[1:])
    try:
        export_run(open_run(run, Context(device="cpu")), out, ("image", "text"))
    except FdchError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
