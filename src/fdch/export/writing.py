"""An export on disk: ONNX files, and a manifest that says how to use them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fdch import __version__
from fdch.data.static_words import NAME, TOKENIZER, WEIGHTS
from fdch.errors import RunError
from fdch.export.model import FORMAT, MANIFEST, SIDES
from fdch.export.sides import graphs
from fdch.files import make_folder, write_bytes, write_json
from fdch.methods._base import HashMethod
from fdch.runs.run import Run

CODES = (
    "a bit is 1 where its output is 0 or above; bits are packed eight to the byte, "
    "the first bit the highest of its byte (numpy.packbits)"
)
PICTURES = (
    "decode to RGB, turn by the EXIF orientation, scale the whole picture to "
    "size x size with a bicubic filter, give bytes as (rows, size, size, 3)"
)
TEXTS = (
    "casefold, then Unicode NFC; split at white space; a piece that is a known word "
    "counts as that word, another by its parts \\w+ that are known; each word once. "
    "words: numbers of the known words, weights: 1 for each; fill shorter rows up "
    "with word 0 of weight 0. "
)
WITHOUT_WORDS = "A text without a known word has no code"

STATIC_TEXTS = (
    "static: cut the text, casefolded and in NFC, into words [^\\W_]{1,100}; cut each "
    "word into pieces with the tokenizer of the package wordllama "
    f"({TOKENIZER.path}), without special tokens; take the mean of the pieces' rows in "
    f"{WEIGHTS.path} and divide it by its length. A text without any word, known or "
    "not, has no code"
)


def export_run(run: Run, out: Path, roles: Sequence[str] = SIDES) -> dict[str, Any]:
    """Write a run's sides as ONNX files into an empty folder, the manifest last."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"'{out}' is there and not an empty folder. Choose another folder."
        )
    found = graphs(run.method, roles)
    document = manifest(run, found)
    make_folder(out)
    for side, content in found.items():
        name = document["sides"][side]["file"]
        write_bytes(out / name, content)
    write_json(out / MANIFEST, document)
    return document


def manifest(run: Run, found: dict[str, bytes]) -> dict[str, Any]:
    """Say what the graphs take and give, for programs and for people."""
    method = run.method
    return {
        "format": FORMAT,
        "fdch": __version__,
        "method": run.name,
        "model": run.fingerprint,
        "bits": method.bits,
        "codes": CODES,
        "image": _image_input(method),
        "text": _text_input(method),
        "sides": {
            side: {
                "file": f"{side}.onnx",
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for side, content in found.items()
        },
    }


def _image_input(method: HashMethod) -> dict[str, Any]:
    inputs = method.inputs
    facts = {"network": inputs.image_network, "width": inputs.image_width}
    if inputs.size is None:
        return {"input": "features", **facts}
    return {"input": "pixels", "size": inputs.size, **facts, "preparation": PICTURES}


def _text_input(method: HashMethod) -> dict[str, Any]:
    inputs = method.inputs
    if inputs.vocabulary is None:
        return {"input": "vectors", "width": inputs.text_width}
    words = list(inputs.vocabulary.words)
    width = inputs.text_width
    facts = {"input": "words", "width": width, "words": words}
    if inputs.static_width:
        return {**facts, "preparation": TEXTS + STATIC_TEXTS, "static": NAME}
    return {**facts, "preparation": TEXTS + WITHOUT_WORDS}
