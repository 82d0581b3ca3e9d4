"""FDCH-I: FDCH without classification information (Wang et al., 2019, Table 1)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from fdch.methods._base import About
from fdch.methods.fdch import FDCH


@dataclass
class FDCHI(FDCH):
    """FDCH with β = 0: the labels teach only through which pairs are alike."""

    label_weight: float = field(default=0.0, init=False)

    about: ClassVar[About] = replace(
        FDCH.about, paper=FDCH.about.paper + " (variant I: no label regression)"
    )
