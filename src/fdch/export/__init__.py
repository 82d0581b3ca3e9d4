"""Trained methods as ONNX graphs, and the encoder that reads them back."""
