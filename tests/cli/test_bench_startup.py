"""The benchmark of starting."""

import json


def test_the_import_and_the_help_are_timed_beside_python(fdch):
    result = json.loads(fdch("bench", "startup", "--repeats", 1, "--json").stdout)
    assert list(result["seconds"]) == ["python", "import fdch", "fdch --help"]
    assert all(part["min"] > 0 for part in result["seconds"].values())
