"""Every code block of the pages is run, or marked with the reason why not.

The blocks of a page are run in their order, in a folder that has what pages name.
Training is shortened; `fdch serve` runs until the next one or the end of the page.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.milvus_keeper import free_ports
from tests.page_blocks import EXECUTABLE, PAGES, ROOT, find_faults, read_blocks
from tests.tiny_models import write_clip
from tests.trained_scenes import write_manifest

PRELUDE = """
server=""
stop() { [ -z "$server" ] || { kill $server; wait $server; server=""; }; }
trap stop EXIT
fdch() {
    case "$*" in
    serve*)
        stop
        command fdch "$@" --port PORT &
        server=$!
        until command curl -sfo /dev/null http://127.0.0.1:PORT/ready; do
            kill -0 $server || return 1
            sleep 0.2
        done ;;
    "train "*"--method dch"*) command fdch "$@" ;;
    "train "*) command fdch "$@" --set epoch_scale=0.02 ;;
    *) command fdch "$@" ;;
    esac
}
curl() { command curl --silent --show-error --fail-with-body "$@"; }
"""
GIVEN = """
fdch train pairs.csv --bits 32 --out runs/catalogue
fdch train pairs.csv --bits 32 --method fdch --set text_features=words --out runs/fdch
fdch train pairs.csv --bits 32 --method dcmh --out runs/dcmh
fdch evaluate runs/fdch && fdch evaluate runs/dcmh
fdch index create catalogue.index --run runs/catalogue pairs.csv
fdch index create INDEX --run runs/fdch pairs.csv
cp -r runs/fdch RUN && cp -r runs/fdch runs/new
mkdir archive && cp -r INDEX archive/2019.index && cp -r INDEX shop.index
"""
THINGS = "a dog", "a red bag", "a bag of brown leather", "a blue mug", "a portrait"
TO_RUN = {
    page.name: [
        block
        for block in read_blocks(page.read_text("utf-8"))
        if block.language in EXECUTABLE and not block.mark
    ]
    for page in PAGES
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_run_or_has_a_known_reason(page):
    assert not find_faults(page.read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "```\nfdch x\n```\n",
        "```bash\nfdch x\n```\n",
        "a\n\n    fdch x\n",
        "```sh\nfdch x\n",
        "<!-- not run: it is long -->\n```sh\nfdch x\n```\n",
        "<!-- run by tests/test_none.py -->\n```sh\nfdch x\n```\n",
        "<!-- not run -->\n```sh\nfdch x\n```\n",
        "<!-- not run: takes hours -->\n\n```sh\nfdch x\n```\n",
        "<!-- not run: takes hours -->\n```text\nfdch x\n```\n",
    ],
)
def test_other_blocks_and_marks_are_faults(text):
    assert len(find_faults(text)) == 1


def test_marks_before_blocks_are_read():
    text = "<!-- not run: takes hours -->\n```sh\na\n```\n"
    text += "\n- b\n\n    ```text\n    c\n    ```\n"
    assert not find_faults(text)
    assert [tuple(block) for block in read_blocks(text)] == [
        ("sh", "a\n", "not run: takes hours"),
        ("text", "c\n", ""),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_test_that_a_mark_names_reads_the_page(page):
    for block in read_blocks(page.read_text("utf-8")):
        if block.mark.startswith("run by "):
            test = (ROOT / block.mark.removeprefix("run by ")).read_text("utf-8")
            assert f'"{page.name}"' in test


@pytest.mark.slow
def test_the_first_example_finds_boats_on_beaches(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = read_blocks((ROOT / "README.md").read_text("utf-8"))[0]
    made: dict[str, Any] = {}
    exec(compile(first.code, "README.md", "exec"), made)
    found = made["Searcher"](made["index"]).by_text("a boat on the beach", k=5)
    right = [{"boat", "beach"} <= set(each.labels) for each in found]
    assert sum(right) >= 4
    assert all(each.probability is not None for each in found)


def run(script, folder, cache):
    """Run commands one after the other; the first that fails ends them."""
    [number] = free_ports(1)
    port = str(number)
    # bash -e overlooks a failure before &&
    script = script.replace(":8000", f":{port}").replace(" && ", "\n")
    script = PRELUDE.replace("PORT", port) + script
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "FDCH_CACHE": str(cache)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "script",
    [
        "false && true",
        "python - <<'END'\n1 / 0\nEND",
        "curl http://127.0.0.1:8000/",
    ],
)
def test_what_fails_in_a_page_fails_its_test(script, tmp_path):
    with pytest.raises(AssertionError):
        run(f"{script}\ntrue", tmp_path, tmp_path)


@pytest.fixture(scope="module")
def given(tmp_path_factory, shared_cache):
    """A folder with all that the pages name, made once."""
    folder = tmp_path_factory.mktemp("given")
    write_manifest(folder)
    write_shop(folder)
    write_clip(folder / "models" / "clip-vit-b32")
    run(GIVEN, folder, shared_cache)
    return folder


def write_shop(folder):
    """Write the pictures again as photos in folders that are labels, and as tables."""
    lines = (folder / "pairs.csv").read_text("utf-8").splitlines()[1:]
    rows, products = ["id,image,text,labels,price,year,size"], openpyxl.Workbook()
    products.active.append(("SKU", "image", "title", "category"))
    for number, line in enumerate(lines):
        name, picture, rest = line.split(",", 2)
        text, labels = rest.rsplit(",", 2)[0].strip('"').split('",', 1)
        name = {0: "4711", 1: "815", 2: "12"}.get(number, name)
        place = f"photos/{labels.split(';')[0]}/{name}.png"
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / picture, folder / place)
        (folder / place).with_suffix(".txt").write_text(text, "utf-8")
        text += f" and {THINGS[number % len(THINGS)]}"
        cells = f"{number % 40},{2000 + number % 20},{number % 7}"
        rows.append(f'{name},{place},"{text}",{labels},{cells}')
        products.active.append((name, place, text, labels))
    products.save(folder / "products.xlsx")
    for name, kept in {"pairs": rows, "more": [rows[0], *rows[-9:]]}.items():
        (folder / f"{name}.csv").write_text("\n".join(kept) + "\n", "utf-8")
    sold = rows[0].replace("id,", "SKU,")
    (folder / "products.csv").write_text("\n".join([sold, *rows[1:]]), "utf-8")
    for name in ("photo", "dog", "bag"):
        shutil.copy(folder / place, folder / f"{name}.jpg")
    shutil.copytree(folder / "photos", folder / "DATA")


@pytest.mark.integration
@pytest.mark.parametrize("page", [name for name, blocks in TO_RUN.items() if blocks])
def test_the_blocks_of_a_page_work_one_after_the_other(
    page, given, tmp_path, shared_cache, request
):
    script = "\n".join(
        f"python -W error - <<'END'\n{block.code}END"
        if block.language == "python"
        else block.code
        for block in TO_RUN[page]
    )
    folder = tmp_path / "here"
    shutil.copytree(given, folder)
    for made in re.findall(r"(?:--out|index create) (\S+)", script):
        shutil.rmtree(folder / made, ignore_errors=True)
    if "milvus://" in script:
        url = request.getfixturevalue("milvus_url")
        script = script.replace("milvus://127.0.0.1:19530/photos", url)
    run(script, folder, shared_cache)
