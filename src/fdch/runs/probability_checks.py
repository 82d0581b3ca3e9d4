"""Whether a run's probabilities hold on its test queries."""

from fdch.data.pairs import PairedSet
from fdch.evaluation.calibration.model import Calibration
from fdch.evaluation.calibration.reliability import Reliability, check_probabilities
from fdch.evaluation.measures import DIRECTIONS
from fdch.index.store import choose_kinds
from fdch.methods._base import HashMethod
from fdch.runs.encoding import EncodedPairs, encode_sides
from fdch.training.context import PLAIN, Context


def check_galleries(
    method: HashMethod,
    calibration: Calibration,
    query: PairedSet,
    database: PairedSet,
    codes: EncodedPairs,
    context: Context = PLAIN,
) -> dict[str, dict[str, Reliability]]:
    """Compare stated probabilities with the truth, by gallery and direction.

    Queries that lack a side or labels are left out; `codes` are those of the
    database. Returns only what has probabilities.
    """
    is_whole = query.images.present & query.texts.present & query.labels.any(axis=1)
    if not is_whole.any():
        return {}
    queries = encode_sides(method, query[is_whole], context)
    labelled = codes.with_labels(database.labels)
    sides = {"image": labelled.image, "text": labelled.text}
    found: dict[str, dict[str, Reliability]] = {}
    for direction in DIRECTIONS:
        side, _, other = direction.partition("_to_")
        kinds = [other] * len(sides[other].codes)
        galleries = [("modality", sides[other], kinds)]
        if labelled.unified is not None:
            mixed = choose_kinds(codes.has_image, codes.has_text, True)
            galleries.append(("unified", labelled.unified, mixed.tolist()))
        for gallery, items, named in galleries:
            part = check_probabilities(calibration, queries, side, items, named)
            if part is not None:
                found.setdefault(gallery, {})[direction] = part
    return found
