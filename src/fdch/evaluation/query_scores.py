"""Every query's own scores: what intervals and paired tests are made from.

They lie beside the document of the scores, as float32 arrays in a safetensors
file, which holds numbers and nothing that runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fdch.errors import DataError
from fdch.files import write_whole

if TYPE_CHECKING:
    from fdch.evaluation.scores import Scores

MAX_BYTES = 2**28
ROUNDING = 1e-5  # of float32 against the means, which were taken in float64
ADVICE = "Score the queries again."

Key = tuple[str, str, str]
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class QueryScores:
    """Scores of single queries, in the order of the queries.

    Args:
        values: By gallery, direction and measure, (queries,) each; NaN for a query
            without a relevant item.
    """

    values: Mapping[Key, Values]

    def save(self, path: Path) -> None:
        """Write the scores, whole or not at all."""
        arrays = {"/".join(key): values for key, values in self.values.items()}
        write_whole(path, lambda partial: save_file(arrays, partial))

    @classmethod
    def read(cls, path: Path, scores: "Scores") -> "QueryScores":
        """Read what `save` wrote, and see that it belongs to the scores.

        Raises:
            DataError: The file is damaged, too large or of other scores.
        """
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ValueError(f"it has over {MAX_BYTES:,} bytes")
            arrays = load_file(path)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as problem:
            raise DataError(f"'{path}' cannot be read: {problem}. {ADVICE}") from None
        found = cls({_key(name): array for name, array in arrays.items()})
        for key in found.values:
            found._require_same(key, scores, path)
        return found

    def _require_same(self, key: Key, scores: "Scores", path: Path) -> None:
        """Refuse a list whose mean is not the one that the document gives."""
        values, expected = self.values[key], scores.means().get(key)
        if values.dtype != np.float32 or values.ndim != 1 or expected is None:
            raise DataError(
                f"'{path}' must hold lists of float32, one to each score; "
                f"{' '.join(key)[:60]!r} is {values.dtype} of shape {values.shape}. "
                f"{ADVICE}"
            )
        known = self.known(key).clip(0, 1)
        mean = float(known.mean(dtype=np.float64)) if len(known) else -1.0
        if abs(mean - expected) > ROUNDING:
            raise DataError(
                f"'{path}' does not belong to the scores beside it: the mean of "
                f"{' '.join(key)} is {mean:.6f}, not {expected:.6f}. {ADVICE}"
            )

    def known(self, key: Key) -> Values:
        """Give the scores of the queries that have one."""
        values = self.values[key]
        return values[~np.isnan(values)]

    def known_scores(self) -> dict[Key, Values]:
        """Give all scores, without queries that have none."""
        return {key: self.known(key) for key in self.values}


def _key(name: str) -> Key:
    gallery, _, rest = name.partition("/")
    direction, _, measure = rest.partition("/")
    return gallery, direction, measure
