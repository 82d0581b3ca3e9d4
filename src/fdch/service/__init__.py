"""The search service: an HTTP API over one index, and the page at its root."""
