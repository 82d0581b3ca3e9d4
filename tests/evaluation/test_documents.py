"""Documents are read by the types of fields; wrong values are named by their place."""

import importlib
import pkgutil
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass
from typing import Any, Literal

import pytest

from fdch import evaluation
from fdch.errors import DataError
from fdch.evaluation.documents import (
    Ends,
    Positive,
    Share,
    from_plain,
    read_value,
    to_plain,
)


@dataclass(frozen=True)
class Inner:
    share: Share


@dataclass(frozen=True)
class Outer:
    name: str
    state: Literal["begun", "done"]
    inner: dict[str, Inner]
    by_rank: dict[int, float] = field(default_factory=dict)
    points: tuple[float | None, ...] = ()
    cutoff: Positive | None = None


WHOLE = Outer("a", "done", {"x": Inner(0.5)}, {10: -2.0}, (None, 1.0), 3)


def test_what_is_written_is_read_back():
    document = to_plain(WHOLE)
    assert document["by_rank"] == {"10": -2.0}
    assert document["points"] == [None, 1.0]
    assert from_plain(Outer, document | {"more": 1}, "outer") == WHOLE


def test_defaults_are_filled_in_and_other_members_required():
    few = {"name": "a", "state": "begun", "inner": {}}
    assert from_plain(Outer, few, "outer") == Outer("a", "begun", {})
    with pytest.raises(DataError, match="outer has no 'state'"):
        from_plain(Outer, {"name": "a"}, "outer")


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (int, 0, 0),
        (float, 3, 3.0),
        (Share, 1 + 1e-12, 1 + 1e-12),  # sums of floats may end slightly outside
        (Positive, 1, 1),
        (Ends, [0, 1], (0.0, 1.0)),
        (list[str], ["a"], ["a"]),
        (Any, {"a": None}, {"a": None}),
        (float | None, None, None),
    ],
)
def test_right_values_are_taken(kind, value, found):
    read = read_value(kind, value, "place")
    assert read == found
    assert type(read) is type(found)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, True),
        (int, 1.0),
        (int, -1),
        (int, 2**64),
        (Positive, 0),
        (float, "1"),
        (float, False),
        (float, float("nan")),
        (float, float("inf")),
        (float, 10**400),
        (Share, 1.001),
        (Share, -0.001),
        (str, 7),
        (list[int], (1, 2)),
        (list[int], [1, "x"]),
        (Ends, [0.5]),
        (dict[str, int], []),
        (dict[int, int], {"x": 1}),
        (dict[int, int], {"9" * 13: 1}),
        (Literal["a"], ["a"]),
        (Inner, None),
    ],
)
def test_wrong_values_are_named(kind, value):
    with pytest.raises(DataError, match=r"^place.* must be .*; got "):
        read_value(kind, value, "place")


MODULES = [
    importlib.import_module(each.name)
    for each in pkgutil.walk_packages(evaluation.__path__, "fdch.evaluation.")
    if not each.name.endswith("numba_engine")
]
KINDS = {
    kind
    for module in MODULES
    for kind in vars(module).values()
    if is_dataclass(kind) and isinstance(kind, type)
}


@pytest.mark.parametrize("kind", sorted(KINDS, key=str))
def test_what_evaluation_gives_cannot_be_changed(kind):
    with pytest.raises(FrozenInstanceError):
        setattr(object.__new__(kind), fields(kind)[0].name, None)
