"""Codes kept and searched: in a folder, or on a server."""
