"""The terms of the losses, each as its paper prints it.

Most are plain sums: what these are divided by is decided once, in
`objectives/reduction.py`. Those that are means say so.
"""
