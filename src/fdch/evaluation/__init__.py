"""Evaluation: codes and labels in, scores out. It never sees a method."""
