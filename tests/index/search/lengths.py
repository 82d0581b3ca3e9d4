"""Lengths of codes that searches are tested with."""

import os


def lengths(*bits: int) -> list[int]:
    """Return these lengths, or those of them that FDCH_TEST_BITS names.

    Kernels are compiled for each number of words, ten seconds each: a test of mutants
    of a kernel takes a few lengths.
    """
    named = os.environ.get("FDCH_TEST_BITS")
    if named is None:
        return list(bits)
    return [each for each in bits if each in map(int, named.split())]
