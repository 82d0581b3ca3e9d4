"""The promises of a store, kept on a Milvus collection."""

from fdch.index.milvus.address import Address, names_milvus
from fdch.index.milvus.store import MilvusStore

__all__ = ["Address", "MilvusStore", "names_milvus"]
