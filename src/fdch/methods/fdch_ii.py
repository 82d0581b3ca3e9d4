"""FDCH-II: FDCH without the pairwise term of stage 2 (Wang et al., 2019, Table 1)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from fdch.methods._base import About
from fdch.methods.fdch import FDCH


@dataclass
class FDCHII(FDCH):
    """FDCH whose second stage only imitates the codes and regresses the labels."""

    pairwise_weight: float = field(default=0.0, init=False)

    about: ClassVar[About] = replace(
        FDCH.about, paper=FDCH.about.paper + " (variant II: no pairwise term)"
    )
