"""Which program encodes queries: torch, or ONNX Runtime."""

from pathlib import Path

from fdch.exported import ExportedModel
from fdch.exporting.sides import graphs
from fdch.exporting.writing import manifest
from fdch.indexing import Index
from fdch.runs import Run

TORCH, ONNX = "torch", "onnx"


def open_encoder(index: Index, name: str | Path) -> ExportedModel | None:
    """Open the encoder of an index's queries.

    Args:
        index: Whose model is to encode.
        name: "torch" for the index's own method, "onnx" for its export made on the
            spot, or the folder of an export that `fdch export` wrote.

    Returns:
        What a Searcher takes as its encoder; None for the method itself.
    """
    if name == TORCH:
        return None
    if name == ONNX:
        return exported_queries(index.run)
    return ExportedModel.open(name)


def exported_queries(run: Run) -> ExportedModel:
    """Export what encodes queries, in memory: the image side and the text side."""
    found = graphs(run.method, ("image", "text"))
    return ExportedModel(manifest(run, found), found)
