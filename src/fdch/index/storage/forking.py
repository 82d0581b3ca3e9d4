"""What a forked child inherits of SQLite: its parent's, to be left alone.

Closing it could copy the parent's log into the file, or wait for a thread that
the child does not have. So not even the end of the child closes it. Only where the
child opens an index itself it must go: SQLite keeps one list of files and locks for
a process, would take the parent's locks for its own, and would miss what is
committed once the parent has let go of them.
"""

import ctypes
import os
import weakref
from typing import Protocol


class Inheritable(Protocol):
    """What a process has open and a child of it must not use."""

    def drop(self) -> None:
        """Close it in the child, changing nothing of what the parent has."""


_open: weakref.WeakSet[Inheritable] = weakref.WeakSet()
_inherited: list[Inheritable] = []


def note_open(opened: Inheritable) -> None:
    """Remember what a child must leave alone."""
    _open.add(opened)


def drop_inherited() -> None:
    """Close what this process inherited, before it opens something of its own."""
    while _inherited:
        _inherited.pop().drop()


def _inherit() -> None:
    for opened in _open:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened))  # it is never freed
        _inherited.append(opened)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)
