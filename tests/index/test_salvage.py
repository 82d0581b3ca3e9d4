import shutil
import sqlite3

import pytest
from tests.index.killing import kill_at
from tests.index.store_samples import random_codes

from fdch.errors import DamagedIndex
from fdch.index.storage.folder import CodeFolder
from fdch.index.storage.layout import CATALOGUE, DRAFT, WAL
from fdch.index.storage.repair import repair_folder
from fdch.index.storage.verification import verify_folder
from fdch.index.store import Item

NAMED, RUNNING = 300, 3000
GONE = [*(f"item {i}" for i in range(0, NAMED, 5)), *map(str, range(NAMED, 3300, 3))]


@pytest.fixture
def path(tmp_path):
    """An index with enough removed items to fill several pages."""
    path = tmp_path / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        items = [Item(f"item {i}", text="x" * 50) for i in range(NAMED)]
        folder.add(items, random_codes(NAMED))
        folder.add_numbered(random_codes(RUNNING, seed=1))
        folder.remove(GONE)
    return path


def contents(path):
    with CodeFolder.open(path) as folder:
        ids = folder.within(random_codes(1), 32)[0].ids
        codes = folder.codes(ids).packed.tolist()
        return dict(zip(ids, zip(folder.items(ids), codes, strict=True), strict=True))


def leaves(path, name):
    """Give the pages of a table or an index that hold its rows."""
    connection = sqlite3.connect(path / CATALOGUE)
    query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
    ((root,),) = connection.execute(query, (name,)).fetchall()
    connection.close()
    content = (path / CATALOGUE).read_bytes()
    page = content[(root - 1) * 4096 :][:4096]
    if page[0] in (10, 13):
        return [root]
    count = int.from_bytes(page[3:5], "big")
    places = [int.from_bytes(page[12 + 2 * i :][:2], "big") for i in range(count)]
    return [int.from_bytes(page[place:][:4], "big") for place in places]


def overwrite(path, page, change):
    with (path / CATALOGUE).open("r+b") as file:
        file.seek((page - 1) * 4096)
        content = change(bytearray(file.read(4096)))
        file.seek((page - 1) * 4096)
        file.write(content)


def wiped(content):
    return bytes(len(content))


def altered(content):
    """Let the last record on a page be of another number."""
    content[-2] ^= 0x02
    content[-1] ^= 0x03
    return content


@pytest.mark.parametrize("change", [wiped, altered])
@pytest.mark.parametrize(
    "names",
    [["removed"], ["sqlite_autoindex_removed_1"], ["ranges"], ["removed", "ranges"]],
)
def test_removed_items_stay_away_and_all_others_stay(path, names, change):
    before = contents(path)
    for name in names:
        overwrite(path, leaves(path, name)[0], change)
    assert not verify_folder(path).is_clean
    done = repair_folder(path)
    assert done.restored == [f"{CATALOGUE}, written anew"]
    assert not done.lost
    assert not done.unnamed
    assert contents(path) == before
    assert not done.left


def test_removals_that_are_lost_are_told(path):
    before = contents(path)
    overwrite(path, leaves(path, "removed")[0], wiped)
    overwrite(path, leaves(path, "sqlite_autoindex_removed_1")[0], wiped)
    done = repair_folder(path)
    assert any("entries of the list of removed items" in line for line in done.unnamed)
    after = contents(path)
    assert all(after[id] == before[id] for id in before)
    assert not any(id.startswith("item") for id in set(after) - set(before))
    assert not done.left


@pytest.mark.parametrize("has_log", [False, True])
@pytest.mark.parametrize(
    ("call", "count"),
    [("os.unlink", 1), ("os.replace", 1), ("os.replace", 2), ("shutil.rmtree", 1)],
)
def test_a_kill_while_the_catalogue_is_swapped_loses_nothing(
    path, has_log, call, count
):
    (root,) = leaves(path, "ranges")
    if has_log:
        kill_at(
            path,
            "from fdch.index.storage.folder import CodeFolder\n"
            "from fdch.index.store import Item\n"
            "from tests.index.store_samples import random_codes\n"
            "folder = CodeFolder.open(path, writable=True)\n"
            "folder.add([Item(f'late {i}') for i in range(9)], random_codes(9))\n"
            "die()",
        )
    before = contents(path)
    overwrite(path, root, wiped)
    kill_at(
        path,
        "import shutil\n"
        "import fdch.index.storage.salvage as salvage\n"
        "from fdch.index.storage.repair import repair_folder\n"
        "finish = salvage.finish_rebuilding\n"
        "def finish_in_part(folder):\n"
        f"    real, left = {call}, {count}\n"
        "    def counted(*args, **kwargs):\n"
        "        nonlocal left\n"
        "        left -= 1\n"
        "        return real(*args, **kwargs) if left else die()\n"
        f"    {call} = counted\n"
        "    finish(folder)\n"
        "    die()\n"
        "salvage.finish_rebuilding = finish_in_part\n"
        "repair_folder(path)",
    )
    if (path / DRAFT).exists():
        assert any(p.file == DRAFT for p in verify_folder(path).problems)
        with pytest.raises(DamagedIndex, match=r"stopped .* repair' again"):
            CodeFolder.open(path)
    done = repair_folder(path)
    assert not done.lost
    assert not done.unnamed
    assert contents(path) == before
    assert verify_folder(path).is_clean


def test_each_repair_keeps_what_it_found_damaged(path):
    found = []
    for _ in range(3):
        overwrite(path, leaves(path, "items")[0], wiped)
        found.append((path / CATALOGUE).read_bytes())
        repair_folder(path)
    aside = path / "damaged"
    names = [CATALOGUE, f"{CATALOGUE}.2", f"{CATALOGUE}.3"]
    assert [(aside / name).read_bytes() for name in names] == found
    assert verify_folder(path).is_clean


def test_a_log_is_kept_beside_its_catalogue(path):
    kept = []
    for name in ("new", "newer"):
        with CodeFolder.open(path, writable=True) as folder:
            folder.add([Item(name)], random_codes(1))
            left = shutil.copytree(path, path.with_name(name))  # as a kill leaves it
        overwrite(left, leaves(path, "items")[0], wiped)
        shutil.rmtree(path)
        left.rename(path)
        kept.append((path / WAL).read_bytes())
        repair_folder(path)
    aside = path / "damaged"
    assert (aside / WAL).read_bytes() == kept[0]
    assert (aside / f"{CATALOGUE}.2-wal").read_bytes() == kept[1]
    with CodeFolder.open(path) as folder:
        assert None not in folder.items(["new", "newer"])
