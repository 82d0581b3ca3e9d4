"""Trained methods as ONNX graphs, for programs without torch."""
