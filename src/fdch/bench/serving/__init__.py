"""The service under load, beside FAISS behind FastAPI."""
