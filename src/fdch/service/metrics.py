"""Metrics for Prometheus."""

from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter(
            "fdch_requests", "Requests answered.", ["method", "route", "status"], **own
        )
        what = "Time from a request's head to its reply."
        self.seconds = Histogram(
            "fdch_request_seconds", what, ["route"], buckets=_SECONDS, **own
        )
        self.active = Gauge("fdch_active_requests", "Requests being worked on.", **own)
        what = "Jobs waiting for the thread that does them."
        self.waiting = Gauge("fdch_waiting", what, ["index", "queue"], **own)
        what = "Requests encoded and scanned together."
        self.batch = Histogram("fdch_batch_queries", what, buckets=_SIZES, **own)
        what = "Codes compared, or ruled out by bounds."
        self.scanned = Counter("fdch_codes_scanned", what, **own)
        self.items = Gauge("fdch_items", "Items in an index.", ["index"], **own)
        self.writes = Counter(
            "fdch_writes", "Items written or removed.", ["kind"], **own
        )
        what = "1 once searches are answered."
        self.ready = Gauge("fdch_ready", what, ["index"], **own)

    def text(self) -> bytes:
        """Return all of them as Prometheus reads them."""
        return generate_latest(self._registry)
