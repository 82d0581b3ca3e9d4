"""Every method by its name: a file here is one, and other packages add theirs."""

import importlib
import pkgutil
from typing import TYPE_CHECKING

from fdch.data.extensions import METHODS, find_extensions, load_extension
from fdch.errors import SettingError, suggestion

if TYPE_CHECKING:
    from fdch.methods._base import HashMethod

__all__ = ["DEFAULT", "find_name", "load", "names"]
DEFAULT = "fdch_plus"  # what commands train where no method is named


def names() -> list[str]:
    """List the methods, without importing any.

    >>> "fdch" in names()
    True
    """
    return sorted({*_own_names(), *find_extensions(METHODS)})


def load(name: str) -> "type[HashMethod]":
    """Return the class of a method by its name, such as "fdch" or "scm_orth"."""
    from fdch.methods._base import HashMethod

    if name in _own_names():
        module = importlib.import_module(f"fdch.methods.{name}")
        members = [each for each in vars(module).values() if _is_method(each)]
        return next(each for each in members if each.__module__ == module.__name__)
    found = load_extension(METHODS, name, type)
    if found is None:
        raise SettingError(
            f"unknown method '{name}'{suggestion(name, names()) or '.'} "
            f"There are: {', '.join(names())}."
        )
    if not issubclass(found, HashMethod):
        raise SettingError(
            f"the method '{name}' is the class {found.__qualname__}, which is not a "
            "HashMethod. Correct the entry point of its package."
        )
    return found


def find_name(method: "type[HashMethod]") -> str:
    """Return the name of a method's class: of its entry point, or of its file."""
    place = f"{method.__module__}:{method.__qualname__}"
    points = find_extensions(METHODS).items()
    given = (name for name, point in points if point.value == place)
    return next(given, method.__module__.rsplit(".", 1)[-1])


def _own_names() -> list[str]:
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return [name for name in found if not name.startswith("_")]


def _is_method(member: object) -> bool:
    from fdch.methods._base import HashMethod

    return isinstance(member, type) and issubclass(member, HashMethod)
