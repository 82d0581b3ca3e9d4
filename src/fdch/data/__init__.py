"""Pairs of pictures and texts with labels: readers, splits and caches."""
