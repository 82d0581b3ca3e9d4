"""Change the source at random places, one at a time, and see whether tests fail.

pip install cosmic-ray
python scripts/mutate.py evaluation objectives --sample 60 --seed 3 --list left.md

Mutants are cosmic-ray's, at most one for each place, drawn from a seed. They are made
in a copy of the tree; tests run in forks of a process that has loaded the libraries.
"""

import ast
import compileall
import contextlib
import difflib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click

SOURCES = {
    "evaluation": ("evaluation",),
    "objectives": ("objectives", "codes.py"),
    "index": ("index/*.py",),
    "search": ("index/search",),
    "storage": ("index/storage",),
    "milvus": ("index/milvus",),
}
# what a mutant meets after the tests that name its module
TESTS = {
    "evaluation": ("evaluation",),
    "objectives": ("objectives", "test_codes.py", "equations"),
    "index": (
        "index/test_*.py",
        "index/storage/test_creating.py",
        "index/storage/test_facets.py",
        "index/storage/test_filters.py",
        "index/storage/test_folder.py",
        "index/storage/test_vectors.py",
        "retrieval/test_sorting.py",
    ),
    "search": ("index/search",),
    "storage": ("index/storage",),
    "milvus": ("index/milvus",),
}
# tests with a server come last, chosen by their marks
MARKS = {"milvus": ("", "integration and not slow", "slow")}
# these take long, and look at the same files as others do
LEFT_OUT = ("test_crashes.py", "test_damage.py", "test_machine_faults.py")
LEFT_OUT += ("test_access.py", "test_durability.py")  # start servers of their own
# settings of tests: a mutant of a kernel is compiled for these lengths of codes alone
SETTINGS = {"search": {"FDCH_TEST_BITS": "40 64 72 128 320"}}
NOT_RUN = {"search": "after_warming"}  # by name: compiles all kernels once more
SECONDS = {"milvus": 60}  # tests there mostly wait
MAX_SECONDS = 300  # of a processor, for the tests of one mutant
MILVUS = "FDCH_TEST_MILVUS"  # the address of a server that tests use
NO_SERVER = 70  # how a process ends that cannot reach it
NO_TESTS = 5  # how pytest ends where the marks choose none
OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM)
OPTIONS = [
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--basetemp=basetemp",
    "--doctest-modules",
]
Place = tuple[int, int]


class Mutant(NamedTuple):
    """A change of one place: which occurrence of what an operator of mutation finds."""

    file: Path
    operator: str
    occurrence: int
    line: int


def list_files(root: Path, name: str) -> list[Path]:
    """Return the Python files of a folder, or those that a pattern names."""
    if (root / name).is_dir():
        return sorted((root / name).rglob("*.py"))
    return sorted(root.glob(name))


def list_mutants(file: Path) -> list[list[Mutant]]:
    """Return the mutants of each place of a file; types are no code."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    names = [name for name in operator_names() if not get_operator(name).arguments()]
    operators = {name: get_operator(name)() for name in names}
    text, counts = file.read_text(), Counter[str]()
    hints = list(_annotations(text))
    places: dict[Place, list[Mutant]] = {}
    for node in ast_nodes(get_ast(text)):
        for name, operator in operators.items():
            for start, _ in operator.mutation_positions(node):
                mutant = Mutant(file, name, counts[name], start[0])
                counts[name] += 1
                if not any(first <= start < last for first, last in hints):
                    places.setdefault(start, []).append(mutant)
    return list(places.values())


def _annotations(text: str) -> Iterator[tuple[Place, Place]]:
    for node in ast.walk(ast.parse(text)):
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(hint, ast.expr):
                end = hint.end_lineno or 0, hint.end_col_offset or 0
                yield (hint.lineno, hint.col_offset), end


@contextlib.contextmanager
def mutated(mutant: Mutant, stamp: int) -> Iterator[str]:
    """Change the file for a while; gives the lines that differ."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    before, found = mutant.file.read_text(), mutant.file.stat()
    after = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
    mutant.file.write_text(after)
    os.utime(mutant.file, (stamp, stamp))  # what was compiled is out of date
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    yield "\n".join(line for line in lines if line[0] in "+-")
    mutant.file.write_text(before)
    os.utime(mutant.file, ns=(found.st_atime_ns, found.st_mtime_ns))


def run_tests(tests: list[Path], group: str, marks: str, is_mutated: bool) -> str:
    """Run tests in a fork up to the first failure; say what becomes of a mutant."""
    if not tests:
        return "survived"
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if is_mutated:
            from numba.core import caching

            seconds = SECONDS.get(group, MAX_SECONDS)
            signal.alarm(6 * seconds)  # ends what waits for ever
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            # loops of the tree as it is stay compiled, for the next mutant
            caching.Cache.save_overload = lambda *_: None
        sys.dont_write_bytecode = is_mutated
        import pytest

        chosen = ["-k", f"not {NOT_RUN[group]}"] if group in NOT_RUN else []
        chosen += ["-m", marks] if marks else []
        status = NO_SERVER
        try:
            if marks:
                empty_server(os.environ[MILVUS])
            status = 1
            status = int(pytest.main([*OPTIONS, *chosen, *map(str, tests)]))
        finally:  # nothing of the parent is undone here
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == NO_SERVER:
        raise SystemExit("the Milvus server cannot be reached any more")
    if -status in OUT_OF_TIME:
        return "out of time"
    return "survived" if status in (0, NO_TESTS) else "killed"


def empty_server(address: str) -> None:
    """Delete what the tests of an earlier mutant left on the server."""
    from pymilvus import MilvusClient

    client = MilvusClient(f"http://{address}")
    for name in client.list_collections():
        client.drop_collection(name)
    client.close()


def describe(outcome: str, mutant: Mutant, lines: str) -> str:
    """Return what was changed and where, as an item of a Markdown list."""
    old, new = (
        " ".join(line[2:].strip() for line in lines.splitlines() if line[0] == sign)
        for sign in "-+"
    )
    place = f"{mutant.file.as_posix()}:{mutant.line}"
    return f"- {outcome}, `{place}`: `{old}` becomes `{new}`\n"


def attack(
    group: str, sample: int, draw: random.Random, listing: Path | None = None
) -> None:
    """Make some mutants of a group; print what becomes of each, list what is left."""
    sources = [
        file for name in SOURCES[group] for file in list_files(Path("src/fdch"), name)
    ]
    tests = [
        file
        for name in TESTS[group]
        for file in list_files(Path("tests"), name)
        if file.name.startswith("test_") and file.name not in LEFT_OUT
    ]
    places = [mutants for file in sources for mutants in list_mutants(file)]
    chosen = [
        draw.choice(some) for some in draw.sample(places, min(sample, len(places)))
    ]
    os.environ.update(SETTINGS.get(group, {}))
    outcomes, sound = Counter[str](), set[tuple[Path, str]]()
    for number, mutant in enumerate(chosen, 1):
        module = ".".join(mutant.file.with_suffix("").parts[1:])
        naming = [test for test in tests if module in test.read_text()]
        if ">>> " in mutant.file.read_text():
            naming.insert(0, mutant.file)  # its examples
        outcome = "survived"
        others = [test for test in tests if test not in naming]
        for marks, some in product(MARKS.get(group, ("",)), (naming, others)):
            new = [test for test in some if (test, marks) not in sound]
            if run_tests(new, group, marks, is_mutated=False) != "survived":
                raise SystemExit(f"tests fail on the tree as it is: {new}")
            sound.update((test, marks) for test in new)
            with mutated(mutant, number) as lines:
                outcome = run_tests(some, group, marks, is_mutated=True)
            if outcome != "survived":
                break
        outcomes[outcome] += 1
        click.echo(f"{outcome}: {mutant.file}:{mutant.line} {mutant.operator}")
        if listing and outcome != "killed":
            with listing.open("a") as file:
                file.write(describe(outcome, mutant, lines))
        if outcome == "survived":
            click.echo(lines)
    click.echo(f"{group}: {dict(outcomes)} of {len(places)} places")


@click.command()
@click.argument("groups", nargs=-1, type=click.Choice(list(SOURCES)))
@click.option("--sample", default=60, help="Mutants of each group.")
@click.option("--seed", default=0, help="Of the sample.")
@click.option(
    "--list",
    "listing",
    type=click.Path(path_type=Path, resolve_path=True),
    help="A file to which the mutants not killed are added, to be judged.",
)
def main(groups: tuple[str, ...], sample: int, seed: int, listing: Path | None) -> None:
    """Make mutants of some groups of files, by default of all."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import numba  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401

    root = Path(__file__).resolve().parents[1]
    ignored = shutil.ignore_patterns(".*", "__pycache__", "site", "dist")
    with tempfile.TemporaryDirectory(
        prefix="fdch-mutants-", ignore_cleanup_errors=True
    ) as place:
        copy = shutil.copytree(root, Path(place) / "tree", ignore=ignored)
        os.environ["PYTHONPATH"] = str(copy / "src")
        sys.path[:0] = [str(copy / "src"), str(copy)]
        os.chdir(copy)
        compileall.compile_dir("src", quiet=1)
        with contextlib.ExitStack() as stack:
            for group in groups or tuple(SOURCES):
                if group in MARKS:
                    stack.enter_context(serve_milvus(Path(place) / "milvus"))
                attack(group, sample, random.Random(f"{seed} {group}"), listing)


@contextlib.contextmanager
def serve_milvus(folder: Path) -> Iterator[None]:
    """Keep one server for the tests of all mutants."""
    from tests.milvus_keeper import using_server

    folder.mkdir(exist_ok=True)
    with using_server(folder) as server:
        if "problem" in server:
            raise SystemExit(f"the Milvus server cannot run: {server['problem']}")
        os.environ[MILVUS] = server["address"]
        yield


if __name__ == "__main__":
    main()
