"""Attack one reader, or all in turn, for some seconds: `python -m tests.fuzz.run csv`.

With atheris, which `make venv` installs on Linux, the attack is guided by coverage;
without it, or with --plain, whole samples are changed at random.
What is found is kept as a file, and read again with --replay FILE.
"""

import argparse
import faulthandler
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.corpus import read_corpus
from tests.fuzz.limits import MAX_SECONDS, limit_seconds

MEMORY_MB = 3000
COMPILED = (
    "fdch.evaluation.counting.numba_engine",
    "fdch.index.search",
)  # not to be changed


def main() -> None:
    """Read the arguments and attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", help="one of the readers, or 'all'")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--cases", type=int, help="with atheris, in place of seconds")
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=Path, help="a file that was found")
    parser.add_argument("--found", type=Path, default=Path("fuzz-findings"))
    given = parser.parse_args()
    guided = find_spec("atheris") is not None and not given.plain
    if given.reader == "all":
        sys.exit(attack_all(given.seconds, guided, given.found))
    if given.replay:
        from tests.fuzz.readers import check

        print("refused" if check(given.reader, given.replay.read_bytes()) else "read")
    elif guided:
        end = f"-max_total_time={given.seconds}"
        if given.cases is not None:  # the same ones each time
            end = f"-runs={given.cases}"
        attack_guided(given.reader, end, given.seed, given.found)
    else:
        attack_plain(given.reader, given.seconds, given.seed, given.found)


def attack_all(seconds: int, guided: bool, found: Path) -> int:
    """Attack each reader in a process of its own; give how many had findings."""
    from tests.fuzz.readers import READERS

    failed = []
    for name, reader in READERS.items():
        if not reader.is_there:
            continue
        plain = [] if guided else ["--plain"]
        command = [sys.executable, "-m", "tests.fuzz.run", name, *plain]
        command += ["--seconds", str(seconds), "--found", str(found)]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = (done.stdout + done.stderr).strip().splitlines()
        summary = next((line for line in lines if line.startswith("Done ")), "stopped")
        print(f"{name}: {summary}", flush=True)
        if done.returncode:
            failed.append(name)
            steps = ("#", "stat::")  # of atheris, not of what it found
            findings = [line for line in lines if not line.startswith(steps)]
            print("\n".join(findings[-40:]), flush=True)
    print(f"findings in: {', '.join(failed) or 'none'}")
    return len(failed)


def attack_plain(name: str, seconds: int, seed: int, found: Path) -> None:
    """Change samples at random until the time is over or something is found."""
    from tests.fuzz.mutations import mutate
    from tests.fuzz.readers import READERS, check

    faulthandler.enable()
    rng, samples = random.Random(seed), READERS[name].samples() + read_corpus(name)
    end, cases, refused = time.monotonic() + seconds, 0, 0
    found.mkdir(parents=True, exist_ok=True)
    path = found / f"{name}-last"
    while time.monotonic() < end:
        content = mutate(rng.choice(samples), rng, rng.choice(samples))
        path.write_bytes(content)  # stays if the process dies
        with limit_seconds():
            refused += check(name, content)
        cases += 1
    path.unlink(missing_ok=True)
    print(f"Done {cases} cases in {seconds} s, {refused} refused")


def attack_guided(name: str, end: str, seed: int, found: Path) -> None:
    """Let atheris look for bytes that reach new lines, up to its option `end`."""
    start = prepare_guided(name)
    from tests.fuzz.readers import READERS

    corpus = found / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(READERS[name].samples() + read_corpus(name)):
        (corpus / f"sample-{number}").write_bytes(content)
    options = [end, f"-seed={seed + 1}", "-max_len=200000"]
    options += [f"-rss_limit_mb={MEMORY_MB}", f"-timeout={MAX_SECONDS}"]
    options += [f"-artifact_prefix={found}/{name}-", "-print_final_stats=1"]
    start([sys.argv[0], *options, str(corpus)])


def prepare_guided(name: str) -> Callable[[list[str]], None]:
    """Import all that a reader needs, its lines counted; give what starts libFuzzer."""
    import atheris

    with atheris.instrument_imports(include=["fdch"], exclude=list(COMPILED)):
        from tests.fuzz.readers import READERS, check

        for sample in READERS[name].samples():
            with suppress(Exception):
                check(name, sample)

    def start(command: list[str]) -> None:
        atheris.Setup(command, lambda content: _discard(check(name, content)))
        atheris.Fuzz()  # ends the process

    return start


def _discard(_: object) -> None:
    """Give nothing: atheris takes a value for a request not to keep the bytes."""


if __name__ == "__main__":
    main()
