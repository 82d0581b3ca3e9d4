"""The compiled full scan.

Importing this file needs numba.
"""

from fdch.index.search.nearest_kernels import nearest_rows
from fdch.index.search.within_kernels import rows_within

__all__ = ["nearest_rows", "rows_within"]
