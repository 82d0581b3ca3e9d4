import shutil
import threading

import numpy as np
import pytest
from tests.index.store_samples import random_codes, sample_items

from fdch.codes import Codes
from fdch.errors import DataError, IndexBusy, IndexFolderError, ModelMismatch
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Added, Condition, Item
from fdch.runs.run_files import DESCRIPTION


@pytest.fixture
def folder(tmp_path):
    with CodeFolder.create(tmp_path / "index", 32, "model a", {"method": "x"}) as made:
        yield made


@pytest.fixture
def filled(folder):
    folder.add(sample_items(60), random_codes(60))
    return folder


def test_a_new_index_is_empty(folder):
    assert len(folder) == 0
    assert folder.bits == 32
    assert folder.model == "model a"
    assert folder.facts == {"method": "x"}
    assert folder.search(random_codes(2), 5)[1].ids == ()
    assert folder.search(random_codes(1), radius=32)[0].ids == ()
    assert folder.items(["a", "0"]) == [None, None]
    assert folder.remove(["a"]) == ["a"]


def test_added_items_are_found_with_all_that_is_known(filled):
    codes = random_codes(60)
    assert len(filled) == 60
    assert filled.items(["item 7", "none"]) == [sample_items(60)[7], None]
    assert filled.fetch(["item 9", "item 2"]).codes == codes[[9, 2]]
    (answer,) = filled.search(codes[7], 3)
    assert answer.ids[0] == "item 7"
    assert answer.distances[0] == 0
    assert answer.codes[0] == codes[7]
    assert answer.scanned == 60


def test_ties_come_in_order_of_insertion(folder):
    same = Codes(np.zeros((4, 4), np.uint8), 32)
    folder.add([Item(name) for name in "dcba"], same)
    folder.add([Item("c")], same[:1])
    assert folder.search(same[:1], 4)[0].ids == ("d", "b", "a", "c")
    assert folder.search(same[:1], radius=0, k=3)[0].ids == ("d", "b", "a")


def test_an_item_with_a_known_id_replaces_that_one(filled):
    code = random_codes(1, seed=9)
    again = Item("item 7", text="new", columns={"colour": "pink"})
    assert filled.add([again, Item("other")], random_codes(2, seed=9)) == Added(1, 1)
    assert len(filled) == 61
    assert filled.items(["item 7"]) == [again]
    assert filled.fetch(["item 7"]).codes == code
    assert filled.search(code, 1, where=[Condition("colour", "=", ("pink",))])[
        0
    ].ids == ("item 7",)
    assert (
        "item 7"
        not in filled.search(
            code, radius=32, where=[Condition("label", "=", ("cat",))]
        )[0].ids
    )


def test_removed_items_are_gone_and_unknown_ids_reported(filled):
    assert filled.remove(["item 3", "x", "item 4", "y", "item 3"]) == ["x", "y"]
    assert len(filled) == 58
    assert filled.items(["item 3"]) == [None]
    assert "item 3" not in filled.search(random_codes(1), radius=32)[0].ids
    with pytest.raises(DataError, match=r"has no item 'item 3'\. Check"):
        filled.fetch(["item 5", "item 3"])


def test_the_next_search_after_removals_has_all_other_items_in_order(folder):
    """As docs/exactness.md shows, where milvus #42951 had 27 results of 2,052."""
    signs = np.random.default_rng(0).choice([-1, 1], (6455, 6))  # ties everywhere
    codes = Codes.from_signs(np.pad(signs, ((0, 0), (0, 26)), constant_values=1))
    folder.add([Item(str(number)) for number in range(6455)], codes)
    (before,) = folder.search(codes[:1], 6455)
    gone = {str(number) for number in range(6455) if number % 3}
    assert folder.remove(sorted(gone)) == []
    (after,) = folder.search(codes[:1], 6455)
    assert after.ids == tuple(name for name in before.ids if name not in gone)
    assert len(after.ids) == 2152


def test_reopening_finds_the_same(filled, tmp_path):
    filled.remove(["item 0"])
    before = filled.search(random_codes(3, seed=5), 10)
    filled.close()
    with CodeFolder.open(tmp_path / "index") as again:
        after = again.search(random_codes(3, seed=5), 10)
        assert [a.ids for a in after] == [b.ids for b in before]
        assert len(again) == 59


def test_a_batch_is_added_whole_or_not_at_all(filled):
    with pytest.raises(DataError, match=r"'new' occurs 2 times.* Give each item"):
        filled.add([Item("new"), Item("new")], random_codes(2))
    with pytest.raises(DataError, match="column 'x'"):
        filled.add([Item("new"), Item("b", columns={"x": 1e999})], random_codes(2))
    with pytest.raises(DataError, match=r"1 items were given 2 codes\. Give one code"):
        filled.add([Item("new")], random_codes(2))
    assert filled.add([], random_codes(0)) == Added(0, 0)
    assert len(filled) == 60
    assert filled.items(["new"]) == [None]


def test_codes_alone_get_running_numbers(filled):
    codes = random_codes(2000, seed=3)
    numbers = filled.add_numbered(codes)
    assert numbers == range(60, 2060)
    assert len(filled) == 2060
    assert filled.items(["60", "59", "2060", "061"]) == [Item("60"), None, None, None]
    assert filled.fetch(["75", "item 1"]).codes == Codes.concatenate(
        [codes[15], random_codes(60)[1]]
    )
    assert filled.search(codes[100], 1)[0].ids == ("160",)
    assert filled.remove(["160", "160", "0"]) == ["0"]
    assert filled.items(["160"]) == [None]
    assert filled.add_numbered(codes[:5]) == range(2060, 2065)


def test_an_item_may_take_the_place_of_a_running_number(folder):
    folder.add_numbered(random_codes(10))
    assert folder.add([Item("4", text="named")], random_codes(1, seed=2)) == Added(0, 1)
    assert folder.items(["4", "10"]) == [Item("4", text="named"), None]
    assert len(folder) == 10
    assert folder.fetch(["4"]).codes == random_codes(1, seed=2)


def test_a_running_number_that_is_taken_is_refused(folder):
    folder.add([Item("5")], random_codes(1))
    with pytest.raises(DataError, match="has the id '5'"):
        folder.add_numbered(random_codes(10))
    assert len(folder) == 1
    assert folder.add_numbered(random_codes(3)) == range(1, 4)


def test_codes_of_another_length_are_refused(filled):
    with pytest.raises(ModelMismatch, match=r"of 32 bits .*have 16\. Encode with"):
        filled.search(random_codes(1, 16), 1)
    with pytest.raises(ModelMismatch, match="of 32 bits"):
        filled.add([Item("a")], random_codes(1, 64))


def test_a_second_writer_is_refused_by_name(filled, tmp_path):
    with pytest.raises(IndexBusy, match=r"written by process \d+ on .*PUT"):
        CodeFolder.open(tmp_path / "index", writable=True)
    filled.close()
    CodeFolder.open(tmp_path / "index", writable=True).close()


def test_a_reader_may_not_write(filled, tmp_path):
    with (
        CodeFolder.open(tmp_path / "index") as reader,
        pytest.raises(IndexFolderError, match="opened for reading"),
    ):
        reader.add([Item("a")], random_codes(1))


def test_a_reader_follows_the_writer(filled, tmp_path):
    with CodeFolder.open(tmp_path / "index") as reader:
        assert len(reader) == 60
        filled.add([Item("new")], random_codes(1, seed=8))
        assert reader.search(random_codes(1, seed=8), 1)[0].ids == ("new",)
        filled.remove(["new"])
        assert reader.items(["new"]) == [None]
        assert len(reader) == 60


def test_a_reader_sees_whole_commits_while_a_writer_adds(folder, tmp_path):
    """Each batch has one code of its own, so its items come all or not at all."""
    done = threading.Event()

    def write():
        try:
            for batch in range(60):
                code = Codes(np.full((20, 4), batch, np.uint8), 32)
                folder.add([Item(f"{batch} {i}") for i in range(20)], code)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    with CodeFolder.open(tmp_path / "index") as reader:
        last = 0
        while not done.is_set():
            found = reader.search(Codes(np.zeros((1, 4), np.uint8), 32), radius=32)[0]
            assert len(found.ids) % 20 == 0
            assert len(found.ids) >= last
            last = len(found.ids)
        assert len(reader) == 1200
    writer.join()


def test_threads_may_share_a_folder(filled):
    codes = random_codes(60)
    wrong = []

    def ask(start):
        for i in range(start, 60, 4):
            if filled.search(codes[i], 1)[0].ids != (f"item {i}",):
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_folder_says_so(filled):
    filled.close()
    filled.close()
    for ask in (lambda: len(filled), lambda: filled.remove(["a"])):
        with pytest.raises(IndexFolderError, match="is closed; open it again"):
            ask()


def test_a_copied_folder_opens(filled, tmp_path):
    filled.close()
    shutil.copytree(tmp_path / "index", tmp_path / "copy")
    with CodeFolder.open(tmp_path / "copy", writable=True) as copy:
        assert len(copy) == 60
        copy.add([Item("more")], random_codes(1))


def test_a_folder_that_is_taken_or_missing_is_reported(filled, tmp_path):
    with pytest.raises(IndexFolderError, match="already exists"):
        CodeFolder.create(tmp_path / "index", 32, "m")
    with pytest.raises(IndexFolderError, match="does not exist"):
        CodeFolder.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(IndexFolderError, match="is not an index"):
        CodeFolder.open(tmp_path / "empty")
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexFolderError, match="is a file; an index is a folder"):
        CodeFolder.open(tmp_path / "file")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / DESCRIPTION).write_text("{}")
    with pytest.raises(
        IndexFolderError, match=r"is a run, not.*create INDEX --run .*run"
    ):
        CodeFolder.open(tmp_path / "run")
    with pytest.raises(IndexFolderError, match="1 to 512 bits; got 0"):
        CodeFolder.create(tmp_path / "new", 0, "m")
    CodeFolder.create(tmp_path / "empty", 8, "m").close()


def test_contents_are_described(filled):
    filled.remove(["item 0"])
    said = filled.describe()
    assert said["items"] == 59
    assert said["removed"] == 1
    assert said["bits"] == 32
    assert said["model"] == "model a"
    assert said["columns"] == ["label", "colour", "price", "year"]
    contents = filled.contents(most=2)
    facets = contents.facets
    assert facets["label"] == [("cat", 40), ("dog", 19)]
    assert facets["colour"] == [("blue", 20), ("green", 20)]
    assert facets["year"] == [(2001, 12), (2002, 12)]
    assert contents.extremes["year"] == (2000, 2004)
    assert set(contents.extremes) == {"price", "year"}
    assert contents.kinds == {"pair": 30, "text": 29}
    assert contents.uncounted is None
    assert contents.distinct == {"label": 3, "colour": 3, "price": 59, "year": 5}
    assert filled.contents(most=100).distinct == contents.distinct


def test_a_model_that_is_not_there_is_reported(filled):
    with pytest.raises(IndexFolderError, match="lost its model"):
        filled.model_folder()


def test_a_forgotten_folder_is_left_closed(tmp_path):
    made = CodeFolder.create(tmp_path / "index", 32, "m")
    made.add(sample_items(3), random_codes(3))
    del made
    assert not list((tmp_path / "index").glob("*-wal"))
    CodeFolder.open(tmp_path / "index", writable=True).close()


@pytest.mark.parametrize("bits", [1, 8, 13, 16, 24, 64, 65, 128, 192, 256])
def test_codes_of_any_length_come_back(tmp_path, bits):
    codes = random_codes(50, bits)
    with CodeFolder.create(tmp_path / "index", bits, "m") as folder:
        folder.add_numbered(codes[:20])
        folder.add([Item(f"i{i}") for i in range(30)], codes[20:])
        assert folder.fetch([str(i) for i in range(20)]).codes == codes[:20]
        assert folder.fetch([f"i{i}" for i in range(30)]).codes == codes[20:]


def test_a_long_reader_makes_no_writer_wait(tmp_path, monkeypatch):
    module = "fdch.index.storage.catalogue.catalogue"
    monkeypatch.setattr(f"{module}._CHECKPOINT_BYTES", 1 << 12)
    monkeypatch.setattr(f"{module}._WAIT_SECONDS", 1000.0)
    log = tmp_path / "index" / "catalogue.sqlite-wal"
    with (
        CodeFolder.create(tmp_path / "index", 32, "model") as writer,
        CodeFolder.open(tmp_path / "index") as reader,
    ):
        with reader._access.reading():
            adding = threading.Thread(
                target=writer.add, args=(sample_items(60), random_codes(60))
            )
            adding.start()
            adding.join(100)
            assert not adding.is_alive()
            assert len(writer) == 60
            assert log.stat().st_size > 1 << 12
        writer._access.checkpoint()
        assert log.stat().st_size == 0
        assert len(reader) == 60
