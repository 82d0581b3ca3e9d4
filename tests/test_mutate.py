"""What scripts/mutate.py writes of mutants that tests do not notice."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MUTATE = runpy.run_path(str(ROOT / "scripts" / "mutate.py"))


def test_a_survivor_is_listed_with_file_line_and_change():
    mutant = MUTATE["Mutant"](Path("src/fdch/codes.py"), "core/AddNot", 0, 7)
    lines = "-     if a == b:\n+     if not a == b:"
    assert MUTATE["describe"]("survived", mutant, lines) == (
        "- survived, `src/fdch/codes.py:7`: `if a == b:` becomes `if not a == b:`\n"
    )
