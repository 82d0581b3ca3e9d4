"""Benchmarks, each beside its peers; only commands import them."""
