"""Anchors, graphs, kernels and dictionaries: tools of methods without networks."""
