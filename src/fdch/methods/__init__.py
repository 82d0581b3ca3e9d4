"""Every method by its file name: a file here is a method there is to choose."""

import importlib
import pkgutil
from typing import TYPE_CHECKING

from fdch.errors import SettingError, suggestion

if TYPE_CHECKING:
    from fdch.methods._base import HashMethod

__all__ = ["load", "names"]


def names() -> list[str]:
    """List the methods, without importing any.

    >>> "fdch" in names()
    True
    """
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def load(name: str) -> "type[HashMethod]":
    """Give the class of a method by its name, such as "fdch" or "scm_orth"."""
    if name not in names():
        raise SettingError(
            f"unknown method '{name}'{suggestion(name, names()) or '.'} "
            f"There are: {', '.join(names())}."
        )
    from fdch.methods._base import HashMethod

    module = importlib.import_module(f"fdch.methods.{name}")
    return next(
        member
        for member in vars(module).values()
        if isinstance(member, type)
        and issubclass(member, HashMethod)
        and member.__module__ == module.__name__
    )
