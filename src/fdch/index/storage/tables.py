"""The tables of a catalogue."""

import sqlite3
from pathlib import Path

from fdch.errors import DamagedIndex, IndexFolderError
from fdch.index.storage.layout import CATALOGUE, FORMAT

SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    "CREATE TABLE parts (part INTEGER PRIMARY KEY, first INTEGER NOT NULL, "
    "rows INTEGER NOT NULL, span INTEGER NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE chunks (part INTEGER NOT NULL, kind TEXT NOT NULL, "
    "chunk INTEGER NOT NULL, digest BLOB NOT NULL, "
    "PRIMARY KEY (part, kind, chunk)) WITHOUT ROWID",
    "CREATE TABLE files (path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, "
    "digest BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE ranges (first INTEGER PRIMARY KEY, count INTEGER NOT NULL)",
    "CREATE TABLE removed (entry INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE)",
    "CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
    "content TEXT NOT NULL, digest BLOB NOT NULL)",
    'CREATE TABLE columns ("column" INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)',
    'CREATE TABLE cells ("column" INTEGER NOT NULL, value NOT NULL, '
    "number INTEGER NOT NULL, spelled TEXT NOT NULL, "
    'PRIMARY KEY ("column", value, number, spelled)) WITHOUT ROWID',
)


def require_own_schema(connection: sqlite3.Connection, folder: Path) -> None:
    """Trust no trigger, view or table that this program did not make."""
    found = [
        sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema") if sql
    ]
    if "facts" in str(found):
        row = connection.execute("SELECT value FROM facts WHERE name = 'format'")
        (version,) = row.fetchone() or (None,)
        if isinstance(version, int) and version > FORMAT:
            raise IndexFolderError(
                f"index '{folder}' has format {version}, written by a later version; "
                f"this one reads formats up to {FORMAT}. Upgrade fdch to open it."
            )
    if sorted(found) != sorted(SCHEMA):
        raise DamagedIndex(
            f"'{folder / CATALOGUE}' is not the catalogue of an index, or it is "
            "damaged. Check the path, or run 'fdch index verify'."
        )
