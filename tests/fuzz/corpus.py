"""What runs found worth keeping: bytes that reach different lines of a reader.

One zip file a reader. Attacks begin with these and the samples, from which all of it
came by changes. `python -m tests.fuzz.corpus READER`, or `all`, renews it from what
the runs have gathered in fuzz-findings/corpus.
"""

import argparse
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).with_name("corpus")
MAX_BYTES = 6_000  # of a reader's file, the smallest content first
INNER = "--inner"


def read_corpus(name: str) -> list[bytes]:
    """Return what is kept for a reader."""
    path = FOLDER / f"{name}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return [archive.read(each) for each in sorted(archive.namelist())]


def write_corpus(name: str, contents: Iterable[bytes]) -> int:
    """Keep these for a reader, as many as fit; return how many."""
    FOLDER.mkdir(exist_ok=True)
    kept, size = 0, 0
    with zipfile.ZipFile(FOLDER / f"{name}.zip", "w") as archive:
        for content in sorted(set(contents), key=lambda each: (len(each), each)):
            entry = zipfile.ZipInfo(hashlib.sha256(content).hexdigest()[:12])
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
            size += entry.compress_size + 2 * len(entry.filename) + 76  # its headers
            kept += 1
            if size > MAX_BYTES:
                break
    return kept


def minimise(name: str, gathered: Path) -> None:
    """Keep the smallest of what was gathered that reach all lines that it reaches."""
    from tests.fuzz.readers import READERS

    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.fuzz.corpus", name, INNER]
        merge = ["-merge=1", "-timeout=10", folder, str(gathered)]
        subprocess.run([*command, *merge], check=True, capture_output=True)
        found = {path.read_bytes() for path in Path(folder).iterdir()}
    kept = write_corpus(name, found - set(READERS[name].samples()))
    print(f"{name}: {kept} of {len(list(gathered.iterdir()))} kept", flush=True)


def merge(name: str, options: list[str]) -> None:
    """Let libFuzzer merge; it starts this command again with other options."""
    from tests.fuzz.run import prepare_guided

    command = f"{sys.executable} -m tests.fuzz.corpus {name} {INNER}"
    prepare_guided(name)([command, *options])


def main() -> None:
    """Renew the corpus of one reader, or of all with something gathered."""
    if INNER in sys.argv[2:3]:
        merge(sys.argv[1], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", help="one of the readers, or 'all'")
    parser.add_argument("--found", type=Path, default=Path("fuzz-findings"))
    given = parser.parse_args()
    folders = sorted((given.found / "corpus").iterdir())
    for folder in folders:
        if given.reader in ("all", folder.name):
            minimise(folder.name, folder)


if __name__ == "__main__":
    main()
