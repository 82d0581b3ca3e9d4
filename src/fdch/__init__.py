"""Find pictures with words and words with pictures through learned binary codes."""

import importlib
from typing import TYPE_CHECKING

from fdch.errors import FdchError

if TYPE_CHECKING:
    from fdch import methods
    from fdch.client.client import Client
    from fdch.codes import Codes
    from fdch.data.pairs import PairedSet
    from fdch.data.text_encoders import TextEncoder
    from fdch.evaluation import Scores, evaluate_codes
    from fdch.export.model import ExportedModel
    from fdch.methods.fdch import FDCH
    from fdch.methods.fdch_plus import FDCHPlus
    from fdch.networks.image_network import ImageNetwork
    from fdch.retrieval.index import Index
    from fdch.retrieval.params import SearchParams
    from fdch.retrieval.results import Results
    from fdch.retrieval.searcher import Searcher
    from fdch.runs.encoding import calibrate
    from fdch.runs.method_scores import evaluate
    from fdch.runs.run import Run, open_run, save_run

__version__ = "0.2.0"
__all__ = [
    "FDCH",
    "Client",
    "Codes",
    "ExportedModel",
    "FDCHPlus",
    "FdchError",
    "ImageNetwork",
    "Index",
    "PairedSet",
    "Results",
    "Run",
    "Scores",
    "SearchParams",
    "Searcher",
    "TextEncoder",
    "calibrate",
    "evaluate",
    "evaluate_codes",
    "methods",
    "open_run",
    "save_run",
]

# loaded when first used, so that importing fdch imports neither torch nor NumPy
_HOMES = {
    "Client": "fdch.client.client",
    "Codes": "fdch.codes",
    "ExportedModel": "fdch.export.model",
    "FDCH": "fdch.methods.fdch",
    "FDCHPlus": "fdch.methods.fdch_plus",
    "ImageNetwork": "fdch.networks.image_network",
    "Index": "fdch.retrieval.index",
    "PairedSet": "fdch.data.pairs",
    "Results": "fdch.retrieval.results",
    "Run": "fdch.runs.run",
    "Scores": "fdch.evaluation",
    "SearchParams": "fdch.retrieval.params",
    "Searcher": "fdch.retrieval.searcher",
    "TextEncoder": "fdch.data.text_encoders",
    "calibrate": "fdch.runs.encoding",
    "evaluate": "fdch.runs.method_scores",
    "evaluate_codes": "fdch.evaluation",
    "open_run": "fdch.runs.run",
    "save_run": "fdch.runs.run",
}


def __getattr__(name: str) -> object:
    if name == "methods":
        return importlib.import_module("fdch.methods")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fdch' has no attribute '{name}'")
