"""A found row as one number: its distance above, its number below.

Keys sort by distance and, at one distance, by insertion.
"""

from typing import Final

NUMBER_BITS: Final = 48  # so many rows can be numbered
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1
NOTHING: Final = (1 << 62) - 1  # sorts after every key
