"""What is scored: codes with labels, and the measures to take of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fdch.codes import Codes
from fdch.errors import SettingError
from fdch.evaluation.hash_lookup import Average, Empty
from fdch.evaluation.partner import RECALL_AT
from fdch.evaluation.protocol import Protocol

Labels = NDArray[np.generic]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Measures:
    """What is reported besides mean average precision.

    Args:
        precision_at: Ranks at which precision is taken.
        average: Whether lookup curves pool the queries ("micro") or average them.
        empty: What a query that retrieves nothing adds to a macro precision.
        ndcg_at: Ranks at which NDCG is taken.
        recall_at: Ranks at which the recall of partners is taken.
    """

    precision_at: tuple[int, ...] = (1, 10, 100)
    average: Average = "micro"
    empty: Empty = "zero"
    ndcg_at: tuple[int, ...] = (10,)
    recall_at: tuple[int, ...] = RECALL_AT


DEFAULT_MEASURES = Measures()


class Coded(NamedTuple):
    """Codes with the labels of their items, 0/1, (items, classes)."""

    codes: Codes
    labels: Labels


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """The codes of pairs: of each modality, and of the pair where there are any.

    Pairs without a picture have no row among the image codes, those without a
    text none among the text codes.

    Args:
        image: Codes of the pictures.
        text: Codes of the texts.
        unified: Codes of the pairs.
        both: Where pairs with both sides lie: their rows among the image codes and
            among the text codes. None where that is not known; partner recall is
            not scored then.
    """

    image: Coded
    text: Coded
    unified: Coded | None = None
    both: tuple[Rows, Rows] | None = None


def require_sizes(
    queries: CodedPairs, database: CodedPairs, protocol: Protocol
) -> None:
    """Refuse codes of other numbers of pairs than the protocol says."""
    number = max(len(queries.image.codes), len(queries.text.codes))
    if number != protocol.queries:
        raise SettingError(
            f"the protocol says {protocol.queries} queries; codes of {number} came."
        )
    parts = [database.image, database.text, database.unified]
    most = max(len(part.codes) for part in parts if part)
    if most > protocol.database:
        raise SettingError(
            f"the protocol says {protocol.database} pairs in the database; "
            f"codes of {most} came."
        )
