"""Checks, recovery, repair, compaction and copies of an index folder."""
