"""Evaluation: codes and labels in, scores out. It never sees a method."""

from fdch.evaluation.comparing.comparison import comparison
from fdch.evaluation.comparing.resampling import bootstrap_intervals, sign_flip_p
from fdch.evaluation.hash_lookup import LookupCurve
from fdch.evaluation.health import CodeHealth, code_health
from fdch.evaluation.histograms import Histograms, distance_histograms
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, MEASURES
from fdch.evaluation.metrics import average_precision, chance, ndcg_at, precision_at
from fdch.evaluation.ordering import Coded
from fdch.evaluation.partner import partner_places
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.scores import Scores
from fdch.evaluation.scoring import (
    CodedPairs,
    evaluate_codes,
    score_galleries,
)

__all__ = [
    "DIRECTIONS",
    "GALLERIES",
    "MEASURES",
    "CodeHealth",
    "Coded",
    "CodedPairs",
    "Histograms",
    "LookupCurve",
    "Protocol",
    "Scores",
    "average_precision",
    "bootstrap_intervals",
    "chance",
    "code_health",
    "comparison",
    "distance_histograms",
    "evaluate_codes",
    "ndcg_at",
    "partner_places",
    "precision_at",
    "score_galleries",
    "sign_flip_p",
]
