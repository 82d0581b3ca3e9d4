"""Benchmarks, each beside its peers; only commands and scripts import them."""
