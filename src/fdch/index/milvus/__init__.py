"""The promises of a store, kept on a Milvus collection."""

from fdch.index.milvus.address import Address
from fdch.index.milvus.store import MilvusStore

__all__ = ["Address", "MilvusStore"]
