"""Scores side by side, paired differences, and how far a mean may move."""
