"""Evaluation: codes and labels in, scores out. It never sees a method."""

from fdch.evaluation.comparison import comparison
from fdch.evaluation.health import CodeHealth, code_health
from fdch.evaluation.histograms import Histograms, distance_histograms
from fdch.evaluation.lookup import LookupCurve, lookup_curve
from fdch.evaluation.metrics import average_precision, chance, precision_at
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.scores import DIRECTIONS, GALLERIES, DirectionScores, Scores
from fdch.evaluation.scoring import Coded, CodedPairs, Measures, evaluate_codes, score
from fdch.evaluation.tables import Table

__all__ = [
    "DIRECTIONS",
    "GALLERIES",
    "CodeHealth",
    "Coded",
    "CodedPairs",
    "DirectionScores",
    "Histograms",
    "LookupCurve",
    "Measures",
    "Protocol",
    "Scores",
    "Table",
    "average_precision",
    "chance",
    "code_health",
    "comparison",
    "distance_histograms",
    "evaluate_codes",
    "lookup_curve",
    "precision_at",
    "score",
]
