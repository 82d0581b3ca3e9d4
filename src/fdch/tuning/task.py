"""What is tuned: a method, the settings that are searched, and on which pairs."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from fdch import __version__
from fdch.errors import SettingError
from fdch.files import fingerprint
from fdch.methods._base import HashMethod
from fdch.methods._settings import identifying, search_space
from fdch.methods._space import Choice, Range
from fdch.tuning.held_out import FOLDS


@dataclass(frozen=True)
class TuningTask:
    """Everything that the scores of trials depend on, but their own settings."""

    method: HashMethod  # the defaults that trials are compared with, unfitted
    fixed: Collection[str]  # settings that the user has chosen; they are not searched
    data: str
    split: str  # fingerprint of the split whose training part is used

    @cached_property
    def space(self) -> dict[str, Range | Choice]:
        """The settings to search."""
        return find_space(self.method, self.fixed)

    @property
    def defaults(self) -> dict[str, Any]:
        """The searched settings as they are without tuning."""
        return {name: getattr(self.method, name) for name in self.space}

    def build(self, settings: Mapping[str, Any]) -> HashMethod:
        """Make the method with other settings, unfitted."""
        return replace(self.method, **settings)

    @property
    def fingerprint(self) -> str:
        """Tell one task from another, so that their trials are not mixed."""
        return fingerprint(
            {
                "method": self.method.name,
                "settings": identifying(self.method),
                "space": {name: asdict(each) for name, each in self.space.items()},
                "folds": FOLDS,
                "data": self.data,
                "split": self.split,
                "version": __version__,
            }
        )


def find_space(method: HashMethod, fixed: Collection[str]) -> dict[str, Range | Choice]:
    """Give what can be searched of a method, fixed settings aside."""
    declared = search_space(type(method))
    found = {name: each for name, each in declared.items() if name not in fixed}
    if not found:
        reason = "its file declares no search space"
        if declared:
            reason = f"all that could be searched is fixed ({', '.join(declared)})"
        raise SettingError(
            f"there is nothing to tune in {method.name}: {reason}. Train it as it is."
        )
    return found
