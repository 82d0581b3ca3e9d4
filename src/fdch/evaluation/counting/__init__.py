"""Engines that count items by distance and shared labels, for `histograms.py`."""
