"""Recipes: which methods and code lengths a table or figure of the paper shows."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Literal

from fdch.data.pairs import PairedSet
from fdch.errors import SettingError, suggestion

ALL = "all"
LABELS = {
    "fdch_i": "FDCH-I",
    "fdch_ii": "FDCH-II",
    "fdch_plus": "FDCH+",
    "scm_orth": "SCM_orth",
    "scm_seq": "SCM_seq",
    "seph_km": "SePH_km",
}


@dataclass(frozen=True)
class Recipe:
    """A table or figure of the paper.

    >>> load("table1").bits
    (16,)
    """

    name: str  # its file's name, such as "table1"

    kind: Literal["table", "figure"]
    title: str
    caption: str
    paper_data: tuple[str, ...]  # the data sets that the paper shows it for
    bits: tuple[int, ...]  # code lengths, as in the paper
    methods: tuple[str, ...]  # methods in the order of the rows


def names() -> list[str]:
    """List the recipes, tables first."""
    folder = resources.files(__package__).joinpath("recipes")
    found = [file.name.removesuffix(".toml") for file in folder.iterdir()]
    return sorted(found, key=lambda name: (not name.startswith("table"), name))


def load(name: str) -> Recipe:
    """Read a recipe by its name."""
    if name not in names():
        hint = suggestion(name, [*names(), ALL]) or "."
        raise SettingError(
            f"there is no recipe '{name}'{hint} There are: {', '.join(names())}."
        )
    file = resources.files(__package__).joinpath("recipes", f"{name}.toml")
    content: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    for key in ("paper_data", "bits", "methods"):
        content[key] = tuple(content[key])
    return Recipe(name, **content)


def choose(
    name: str, bits: Sequence[int] | None = None, methods: Sequence[str] | None = None
) -> list[Recipe]:
    """Return one recipe, or "all" of them, for some lengths and methods.

    A recipe keeps the wanted methods that it names; one that no chosen recipe names
    is added to each. A recipe left without any is dropped.
    """
    recipes = [load(each) for each in (names() if name == ALL else [name])]
    if bits is not None:
        lengths = tuple(sorted(set(bits)))
        recipes = [replace(recipe, bits=lengths) for recipe in recipes]
    if methods is not None:
        known = {method for recipe in recipes for method in recipe.methods}
        added = [method for method in methods if method not in known]
        for number, recipe in enumerate(recipes):
            kept = [method for method in recipe.methods if method in methods]
            wanted = tuple(dict.fromkeys(kept + added))
            recipes[number] = replace(recipe, methods=wanted)
    return [recipe for recipe in recipes if recipe.methods]


def label(method: str) -> str:
    """Write a method's name as its paper does.

    >>> label("seph_km"), label("fdch_plus"), label("cmfh")
    ('SePH_km', 'FDCH+', 'CMFH')
    """
    return LABELS.get(method, method.upper())


SOURCE = (
    "Wang et al., Fusion-supervised Deep Cross-modal Hashing, 2019; "
    "later methods: their own papers"
)


@dataclass(frozen=True)
class Published:
    """Printed mAP by method, direction and code length; empty for other data.

    >>> Published.of("mirflickr25k").values["fdch", "image_to_text", 16]
    0.7762
    """

    values: Mapping[tuple[str, str, int], float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: str) -> "Published":
        """Return the numbers of a benchmark by its reader's name for it."""
        file = resources.files(__package__).joinpath("published.toml")
        content: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
        by_direction = content.get(data, {}) if data != "notes" else {}
        values = {
            (method, direction, int(bits)): float(value)
            for direction, methods in by_direction.items()
            for method, lengths in methods.items()
            for bits, value in lengths.items()
        }
        return cls(values, content["notes"] if values else {})

    @classmethod
    def beside(cls, pairs: PairedSet) -> "Published":
        """Return the numbers that belong beside scores on these pairs.

        Only the benchmark itself, with the benchmark's split sizes, has any.
        """
        return cls.of(pairs.name) if pairs.benchmark is not None else cls()
