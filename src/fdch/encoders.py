"""Which program encodes queries: torch, or ONNX Runtime."""

from pathlib import Path

from fdch.exported import ExportedModel
from fdch.exporting.sides import graphs
from fdch.exporting.writing import manifest
from fdch.indexing import Index

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
        found = graphs(index.method)
        found.pop("pair", None)  # queries are one-sided
        return ExportedModel(manifest(index.run, found), found)
    return ExportedModel.open(name)
