"""The command line: one file per command, loaded when it is used."""

import logging
import os
import sys
from collections.abc import Sequence

import click

from fdch import __version__
from fdch.cli.shared.groups import RootGroup

COMMANDS = (
    *("demo", "methods", "data", "tune", "train", "evaluate", "encode", "index"),
    *("search", "serve", "export", "compare", "reproduce", "bench", "cache", "doctor"),
)


@click.group(
    cls=RootGroup,
    module="fdch.cli",
    names=COMMANDS,
    example="fdch demo",
    context_settings={"show_default": True},
)
@click.version_option(__version__, prog_name="fdch")
def cli() -> None:
    """Find pictures with words and words with pictures, through learned codes.

    Start with 'fdch demo'. Data is named as pairs.csv, pairs.xlsx, pairs.jsonl,
    pairs.parquet, shards-{000..099}.tar, a folder of pictures, features.npz,
    mirflickr25k:DIR, nuswide:DIR, dcmh-mat:FILE, scenes or scenes:N.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    # threads that wait by spinning crawl where other programs run too; to be
    # said before torch is loaded
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    logging.basicConfig(level=logging.WARNING, format="warning: %(message)s")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # where the shell has closed it
            # a terminal that lacks a sign must not end the program
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    cli.main(args=arguments, prog_name="fdch")
