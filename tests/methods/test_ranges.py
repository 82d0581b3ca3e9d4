"""Settings outside their range are refused by name."""

import math
from types import SimpleNamespace

import pytest

from fdch.errors import SettingError
from fdch.methods._settings.checks import (
    require_not_negative,
    require_positive,
    require_share,
)

settings = SimpleNamespace(one=1, half=0.5, zero=0, below=-2.0, nothing=math.nan)


def test_what_lies_in_range_is_let_through():
    require_positive(settings, "one", "half")
    require_not_negative(settings, "zero")
    require_share(settings, "half")


def test_all_that_is_not_positive_is_named_at_once():
    with pytest.raises(
        SettingError, match=r"positive: zero=0, below=-2\.0, nothing=nan\.$"
    ):
        require_positive(settings, "one", "zero", "below", "nothing")


@pytest.mark.parametrize("name", ["below", "nothing"])
def test_what_is_below_zero_is_refused_with_its_value(name):
    value = getattr(settings, name)
    with pytest.raises(SettingError, match=f"{name} must be 0 or more; got {value}"):
        require_not_negative(settings, name)


@pytest.mark.parametrize("name", ["zero", "one", "below", "nothing"])
def test_a_share_lies_strictly_between_0_and_1(name):
    with pytest.raises(SettingError, match=f"{name} must lie between 0 and 1"):
        require_share(settings, name)
