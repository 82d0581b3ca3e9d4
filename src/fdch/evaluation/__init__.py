"""Evaluation: codes and labels in, scores out. It never sees a method."""

from fdch.evaluation.coded import Coded, CodedPairs, Measures
from fdch.evaluation.comparison import comparison
from fdch.evaluation.hash_lookup import LookupCurve, lookup_curve
from fdch.evaluation.health import CodeHealth, code_health
from fdch.evaluation.histograms import Histograms, distance_histograms
from fdch.evaluation.measures import DIRECTIONS, GALLERIES, MEASURES
from fdch.evaluation.metrics import average_precision, chance, ndcg_at, precision_at
from fdch.evaluation.partner import PartnerScores, partner_places
from fdch.evaluation.protocol import Protocol
from fdch.evaluation.query_scores import QueryScores
from fdch.evaluation.resampling import bootstrap_intervals, sign_flip_p
from fdch.evaluation.scores import DirectionScores, Scores
from fdch.evaluation.scoring import evaluate_codes, score, score_galleries
from fdch.evaluation.tables import Table

__all__ = [
    "DIRECTIONS",
    "GALLERIES",
    "MEASURES",
    "CodeHealth",
    "Coded",
    "CodedPairs",
    "DirectionScores",
    "Histograms",
    "LookupCurve",
    "Measures",
    "PartnerScores",
    "Protocol",
    "QueryScores",
    "Scores",
    "Table",
    "average_precision",
    "bootstrap_intervals",
    "chance",
    "code_health",
    "comparison",
    "distance_histograms",
    "evaluate_codes",
    "lookup_curve",
    "ndcg_at",
    "partner_places",
    "precision_at",
    "score",
    "score_galleries",
    "sign_flip_p",
]
