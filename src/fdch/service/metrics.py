"""What is counted, for Prometheus."""

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
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "fdch_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            "fdch_request_seconds",
            "Time from a request's head to its reply.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.active = Gauge(
            "fdch_active_requests", "Requests being worked on.", registry=registry
        )
        self.waiting = Gauge(
            "fdch_waiting",
            "Jobs waiting for the thread that does them.",
            ["queue"],
            registry=registry,
        )
        self.batch = Histogram(
            "fdch_batch_queries",
            "Requests encoded and scanned together.",
            buckets=_SIZES,
            registry=registry,
        )
        self.scanned = Counter(
            "fdch_codes_scanned",
            "Codes compared, or ruled out by bounds.",
            registry=registry,
        )
        self.items = Gauge("fdch_items", "Items in the index.", registry=registry)
        self.writes = Counter(
            "fdch_writes", "Items written or removed.", ["kind"], registry=registry
        )
        self.thumbnails = Counter(
            "fdch_thumbnails", "Thumbnails requested.", ["cache"], registry=registry
        )
        self.ready = Gauge(
            "fdch_ready", "1 once searches are answered.", registry=registry
        )

    def text(self) -> bytes:
        """Give all of them as Prometheus reads them."""
        return generate_latest(self._registry)
