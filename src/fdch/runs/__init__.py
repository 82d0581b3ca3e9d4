"""A run folder: prepare, train, save, open, encode, score."""
