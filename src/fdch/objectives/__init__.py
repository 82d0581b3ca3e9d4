"""The terms of the losses, each the plain sum its paper prints.

Sums, not means: what they are divided by is decided once, in
`objectives/reduction.py`.
"""
