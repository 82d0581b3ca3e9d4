"""How probable results are: the models, how they are fitted, and whether they hold."""

from fdch.evaluation.calibration.model import (
    FACTS,
    FUSED,
    SCORES,
    SIDES,
    WEIGHTED,
    WEIGHTS,
    Calibration,
    Model,
    QueryFacts,
)

__all__ = [
    "FACTS",
    "FUSED",
    "SCORES",
    "SIDES",
    "WEIGHTED",
    "WEIGHTS",
    "Calibration",
    "Model",
    "QueryFacts",
]
