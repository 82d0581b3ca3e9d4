"""A study: cells of method, code length and seed, and what they share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from fdch import methods
from fdch.data.pairs import Broken
from fdch.data.readers.columns import AS_NAMED, Layout
from fdch.data.split_drawing import SplitSizes
from fdch.errors import FdchError, SettingError, suggestion
from fdch.methods._base import HashMethod
from fdch.methods._deep import DeepMethod
from fdch.methods._settings.assignments import (
    configure,
    parse_assignments,
    setting_names,
)
from fdch.methods.fdch import FDCH
from fdch.reproduction.recipe import Recipe
from fdch.tuning.settings_file import SettingsFile

CELLS, TUNED = "cells", "tuned"


@dataclass(frozen=True, order=True)
class Cell:
    """One method at one code length with one seed.

    >>> Cell("fdch", 16, 0).name
    'fdch-16-0'
    """

    method: str
    bits: int
    seed: int

    @property
    def name(self) -> str:
        """The cell's folder."""
        return f"{self.method}-{self.bits}-{self.seed}"


Job = tuple[Cell, ...]


@dataclass(frozen=True)
class Study:
    """Everything that all cells share."""

    source: str  # data as named on the command line
    out: Path  # folder of the cells, tables and figures
    # settings in text form by method, where not the defaults
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    broken: Broken = "refuse"  # whether broken rows and pictures are refused or skipped
    device: str = "auto"
    keep_runs: bool = False
    tune_minutes: float | None = None  # for each method and length, to tune it

    sizes: SplitSizes | None = None
    layout: Layout = AS_NAMED  # how the data's tables are laid out

    def folder(self, cell: Cell) -> Path:
        """The folder of a cell's results."""
        return self.out / CELLS / cell.name

    def tuned_path(self, cell: Cell) -> Path:
        """The file of tuned settings for a cell's method and length."""
        return self.out / TUNED / f"{cell.method}-{cell.bits}.toml"

    def tuned(self, cell: Cell) -> SettingsFile | None:
        """Read the tuned settings of a cell; None where there are none to be used."""
        path = self.tuned_path(cell)
        if self.tune_minutes is None or not path.exists():
            return None
        try:
            return SettingsFile.read(path)
        except FdchError:
            return None  # it is written again, from the trials beside it

    def method(self, cell: Cell, tuned: bool = True) -> HashMethod:
        """Make a cell's method, unfitted, with its tuned settings if there are any."""
        file = self.tuned(cell) if tuned else None
        settings = file.as_text() if file else self.settings.get(cell.method, {})
        return configure(
            methods.load(cell.method), settings, bits=cell.bits, seed=cell.seed
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for another process."""
        return asdict(self) | {"out": str(self.out), "layout": self.layout.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Take what `to_json` gave."""
        sizes = document["sizes"] and SplitSizes(**document["sizes"])
        read = {"out": Path(document["out"]), "sizes": sizes}
        layout = Layout.from_json(document["layout"])
        return cls(**{**document, **read, "layout": layout})


def cells_of(recipes: Iterable[Recipe], seeds: Sequence[int]) -> list[Cell]:
    """List the cells that recipes need, each once."""
    wanted = (
        Cell(method, bits, seed)
        for recipe in recipes
        for bits in recipe.bits
        for method in recipe.methods
        for seed in seeds
    )
    return list(dict.fromkeys(wanted))


def jobs_of(cells: Iterable[Cell], is_tuned: bool = False) -> list[Job]:
    """Group cells that share work, the longest first.

    FDCH and its variants share their first stage, so those of one length and seed
    are one job, in the order of the cells. Tuned settings are shared by all seeds.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        kind = methods.load(cell.method)
        family = "fdch" if issubclass(kind, FDCH) else cell.method
        seeds = cell.method if is_tuned else cell.seed
        groups.setdefault((family, cell.bits, seeds), []).append(cell)

    def is_short(job: Job) -> tuple[int, bool]:
        return -len(job), not issubclass(methods.load(job[0].method), DeepMethod)

    return sorted(map(tuple, groups.values()), key=is_short)


def settings_by_method(
    assignments: Sequence[str], chosen: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Sort "method.key=value" texts by method; "*" stands for any letters.

    A pattern counts for those of the methods it fits that have the setting.

    >>> settings_by_method(["fdch*.batch_size=64"], ["fdch", "fdch_i"])["fdch_i"]
    {'batch_size': '64'}
    """
    found: dict[str, dict[str, str]] = {}
    for name, value in parse_assignments(assignments).items():
        pattern, dot, key = name.partition(".")
        fitting = [method for method in chosen if fnmatchcase(method, pattern)]
        if not dot or not fitting:
            hint = suggestion(pattern, chosen) or f"; chosen are: {', '.join(chosen)}."
            raise SettingError(
                f"settings are written method.key=value; '{name}={value}' names no "
                f"chosen method{hint}"
            )
        for method in _with_setting(fitting, key, is_pattern="*" in pattern):
            found.setdefault(method, {})[key] = value
    return found


def _with_setting(fitting: Sequence[str], key: str, is_pattern: bool) -> list[str]:
    """Leave out methods without a setting, unless a method was meant by name."""
    having = [
        method
        for method in fitting
        if key == "preset" or key in setting_names(methods.load(method))
    ]
    return having if is_pattern and having else list(fitting)
