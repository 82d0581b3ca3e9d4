"""The command line: one file per command, loaded when it is used."""

import logging
import os
import sys
from collections.abc import Sequence

import click

from fdch import __version__
from fdch.cli.shared.groups import RootGroup
from fdch.cli.shared.options import example

COMMANDS = {
    "demo": "Train, evaluate, index and search generated pictures, in minutes.",
    "methods": "List the methods, or the settings of one.",
    "data": "Look at data before training.",
    "tune": "Find the settings of a method that suit some data.",
    "train": "Train a method on pairs and save it as a run.",
    "evaluate": "Score a run: pictures find texts, and texts find pictures.",
    "encode": "Write the codes of pairs to a file.",
    "index": "Make an index of pairs, change it and look after it.",
    "search": "Find what fits words, a picture, items, or several together.",
    "serve": "Serve an index: an HTTP API, and a page at its root.",
    "export": "Write a trained run as graphs for programs without torch.",
    "compare": "Put the scores of several runs side by side.",
    "reproduce": "Make the paper's tables and figures again, for any data.",
    "bench": "Measure how fast and how good fdch is.",
    "cache": "Look after what is kept between runs to save time.",
    "doctor": "Show versions, the device, the cache and what each extra lacks.",
}


@click.group(
    cls=RootGroup,
    modules="fdch.cli.",
    summaries=COMMANDS,
    epilog=example("fdch demo"),
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
