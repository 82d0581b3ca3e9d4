"""Exact search beside FAISS: the scan, and what compaction adds."""
