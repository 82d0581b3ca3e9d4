"""The catalogue's full-text table (FTS5): which items' texts hold which words.

Python cuts the texts (`data/words.py`) and folds accents; FTS5 stems the words and
keeps, for each, the numbers of the items.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from fdch.data.words import cut_words, fold_accents

CUT = 2  # raised whenever texts are cut otherwise: catalogues are then made again
# each word that Python cuts is one word to this tokenizer, whatever its letters
_OPTIONS = (
    "content='', detail=none, columnsize=0, tokenize=\"porter ascii tokenchars '_'\""
)
WORDS_TABLE = f"CREATE VIRTUAL TABLE words USING fts5(cut_{CUT}, {_OPTIONS})"
_MAX_KNOWN_STEMS = 2**16


def split_words(text: str | None) -> tuple[str, ...]:
    """Return the words that a text is found by, each once, in their order.

    >>> split_words("A café, a Dog")
    ('a', 'cafe', 'dog')
    """
    return tuple(dict.fromkeys(map(fold_accents, cut_words(text or ""))))


def put_words(connection: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Index the words of items: the number of each, and its words as one text."""
    query = f"INSERT INTO words (rowid, cut_{CUT}) VALUES (?, ?)"
    connection.executemany(query, (row for row in rows if row[1]))


def drop_words(connection: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Take the words of items out; they must be those that were put in."""
    query = f"INSERT INTO words (words, rowid, cut_{CUT}) VALUES ('delete', ?, ?)"
    connection.executemany(query, (row for row in rows if row[1]))


def has_words(connection: sqlite3.Connection) -> bool:
    """Return whether a word was ever put in."""
    (found,) = connection.execute("SELECT EXISTS (SELECT 1 FROM words_idx)").fetchone()
    return bool(found)


def read_words(connection: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Return each word, as the table keeps it, with the number of each item."""
    vocabulary = "CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, words, instance)"
    connection.execute(vocabulary)  # which goes with the connection
    yield from connection.execute("SELECT term, doc FROM temp.held")


def shrink_words(connection: sqlite3.Connection) -> None:
    """Free the space of words that were taken out."""
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


@lru_cache(maxsize=_MAX_KNOWN_STEMS)
def stem_word(word: str) -> str:
    """Return a word as the table keeps it.

    >>> stem_word("dogs") == stem_word("dog")
    True
    """
    connection, guard = _stemmer()
    with guard:
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        put_words(connection, [(1, word)])
        (stem,) = connection.execute("SELECT term FROM stems").fetchone() or ("",)
    return str(stem)


@cache
def _stemmer() -> tuple[sqlite3.Connection, threading.Lock]:
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False
    )
    connection.execute(WORDS_TABLE)
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, row)")
    return connection, threading.Lock()
