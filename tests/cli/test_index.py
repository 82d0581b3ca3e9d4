"""Indexes made, changed and described by commands."""

import json
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from fdch.cli.index.info import show_value
from fdch.data.pairs import PairedSet
from fdch.errors import IndexFolderError, StoreAway
from fdch.index.milvus import MilvusStore
from fdch.retrieval.index import PICTURES_AT_A_TIME, ROWS_AT_A_TIME, Index
from fdch.runs.encoding import encode_pairs
from fdch.runs.run import open_run


@pytest.fixture
def filled(fdch, on_scenes, tmp_path):
    index = tmp_path / "index"
    result = fdch("index", "create", index, "--run", on_scenes.run, "scenes:60")
    assert result.exit_code == 0, result.stderr
    return index


def test_create_says_what_there_is_and_what_to_do(fdch, on_scenes, tmp_path):
    index = tmp_path / "my index"
    result = fdch("index", "create", index, "--run", on_scenes.run, "scenes:60")
    model = open_run(on_scenes.run).fingerprint
    assert result.stdout.splitlines() == [
        f"index   {index}",
        "items   60 (60 new, 0 replaced)",
        f"model   {model}, 16 bits",
        f"next    fdch search '{index}' --text WORDS",
    ]


def test_an_empty_index_is_filled_later(fdch, on_scenes, tmp_path):
    index = tmp_path / "index"
    result = fdch("index", "create", index, "--run", on_scenes.run)
    assert result.stdout.endswith(f"next    fdch index add {index} pairs.csv\n")
    again = fdch("index", "create", index, "--run", on_scenes.run)
    assert again.exit_code == 1
    added = fdch("index", "add", index, "scenes:60", "--json")
    assert json.loads(added.stdout)["added"] == {
        "new": 60,
        "replaced": 0,
        "joined": 0,
        "skipped": [],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_data_that_cannot_be_read_makes_no_index(fdch, on_scenes, tmp_path):
    index = tmp_path / "index"
    result = fdch("index", "create", index, "--run", on_scenes.run, "nothing.csv")
    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []
    result = fdch("index", "create", index, "--run", tmp_path / "no-run")
    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_reported_before_anything_is_read(
    fdch, filled, on_scenes, monkeypatch
):
    monkeypatch.setattr("fdch.runs.preparation.read_pairs", pytest.fail)
    monkeypatch.setattr("fdch.runs.run.open_run", pytest.fail)
    result = fdch("index", "create", filled, "--run", on_scenes.run, "scenes:60")
    assert result.exit_code == 1
    assert "already exists" in result.stderr
    address = "milvus://127.0.0.1:9/photos"
    monkeypatch.setattr(MilvusStore, "require_free", refuse)
    result = fdch("index", "create", address, "--run", on_scenes.run, "scenes:60")
    assert (result.exit_code, result.stderr) == (1, f"error: {address} is taken\n")


def refuse(name):
    raise IndexFolderError(f"{name} is taken")


def test_where_filling_fails_the_index_that_was_made_is_reported(
    fdch, on_scenes, photo_rows, manifest, tmp_path, monkeypatch
):
    monkeypatch.setattr("fdch.retrieval.index.PICTURES_AT_A_TIME", 2)
    rows = [*photo_rows[:3], {**photo_rows[3], "image": "", "text": "qwertz"}]
    data = manifest(tmp_path / "pairs.csv", rows)
    index = tmp_path / "index"
    result = fdch("index", "create", index, "--run", on_scenes.run, data)
    assert result.exit_code == 1
    assert "no word that the model knows" in result.stderr
    assert result.stderr.endswith(
        "The index was made and keeps 2 items; continue with 'fdch index add'.\n"
    )
    added = fdch("index", "add", index, data, "--broken", "skip")
    assert "items   3 (1 new, 2 replaced)" in added.stdout


@pytest.mark.parametrize(
    ("problem", "code", "reported"),
    [
        (KeyboardInterrupt(), 130, "interrupted; the index was made and keeps 0 items"),
        (StoreAway("The server is away."), 1, "away. The index was made and keeps 0"),
    ],
)
def test_what_ends_early_leaves_an_index_to_go_on_with(
    fdch, on_scenes, tmp_path, monkeypatch, problem, code, reported
):
    def stop(*_, **__):
        raise problem

    monkeypatch.setattr(Index, "add", stop)
    words = ("index", "create", tmp_path / "a", "--run", on_scenes.run, "scenes:60")
    result = fdch(*words)
    assert result.exit_code == code
    assert reported in result.stderr
    monkeypatch.setattr(Index, "__len__", stop)
    if code == 1:
        again = fdch(*words[:2], tmp_path / "b", *words[3:])
        assert again.stderr == "error: The server is away.\n"


def test_help_says_how_often_what_was_added_is_on_disk(fdch):
    reported = " ".join(fdch("index", "add", "--help").stdout.split())
    rows = f"{PICTURES_AT_A_TIME} rows, or {ROWS_AT_A_TIME:,} of ready features or"
    assert rows in reported


def test_known_ids_are_replaced_and_halves_joined(
    fdch, filled, photo_rows, manifest, tmp_path
):
    texts = [{**row, "id": f"new {i}", "image": ""} for i, row in enumerate(photo_rows)]
    first = fdch("index", "add", filled, manifest(tmp_path / "texts.csv", texts))
    assert "items   120 (60 new, 0 replaced)" in first.stdout
    pictures = [
        {**row, "id": f"new {i}", "text": ""} for i, row in enumerate(photo_rows[:3])
    ]
    second = fdch("index", "add", filled, manifest(tmp_path / "more.csv", pictures))
    assert "items   120 (0 new, 3 replaced, 3 of them joined halves)" in second.stdout


def test_row_numbers_replace_no_other_items(
    fdch, on_scenes, photo_rows, manifest, tmp_path
):
    index, columns = tmp_path / "index", ("image", "text", "labels", "price")
    priced = [{**row, "price": 1} for row in photo_rows]
    first = manifest(tmp_path / "first.csv", priced[:20], columns)
    fdch("index", "create", index, "--run", on_scenes.run, first)
    second = manifest(tmp_path / "second.csv", priced[20:30], columns)
    refused = fdch("index", "add", index, second)
    assert refused.exit_code == 1
    assert "row 1 would replace another item" in refused.stderr
    assert "--columns id=NAME" in refused.stderr
    pictures = [{**row, "text": ""} for row in priced[20:30]]
    halves = fdch("index", "add", index, manifest(second, pictures, columns))
    assert halves.exit_code == 1
    # the same table, with other prices and more rows
    grown = [{**row, "price": 2} for row in priced[:30]]
    again = fdch("index", "add", index, manifest(first, grown, columns))
    assert "items   30 (10 new, 20 replaced)" in again.stdout
    assert fdch("index", "remove", index, "1").exit_code == 0
    changed = [{**priced[0], "text": "a blue circle"}, *grown[1:]]
    last = fdch("index", "add", index, manifest(first, changed, columns))
    assert "items   30 (1 new, 29 replaced)" in last.stdout


def test_a_folders_pictures_replace_no_others(
    fdch, on_scenes, photo_rows, tmp_path, monkeypatch
):
    def write(folder, rows):
        (tmp_path / folder / "beach").mkdir(parents=True)
        for number, row in enumerate(rows):
            path = tmp_path / folder / "beach" / f"{number}.png"
            path.write_bytes(Path(row["image"]).read_bytes())
            path.with_suffix(".txt").write_text(row["text"])
        return tmp_path / folder

    index, first = tmp_path / "index", write("first", photo_rows[:4])
    fdch("index", "create", index, "--run", on_scenes.run, first)
    refused = fdch("index", "add", index, write("second", photo_rows[4:6]))
    assert refused.exit_code == 1
    assert f"would replace '{first}/beach/0.png'" in refused.stderr
    assert "Rename the new one" in refused.stderr
    copy = write("copy", photo_rows[:5])
    (copy / "beach" / "0.txt").write_text("a boat")
    again = fdch("index", "add", index, copy)
    assert "items   5 (1 new, 4 replaced)" in again.stdout
    unreadable = Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr("filecmp.cmp", unreadable)
    refused = fdch("index", "add", index, first)
    assert refused.exit_code == 1
    assert f"would replace '{copy}/beach/0.png'" in refused.stderr


def test_rows_without_anything_known_are_refused_or_skipped(
    fdch, filled, photo_rows, manifest, tmp_path
):
    rows = [photo_rows[0], {**photo_rows[1], "image": "", "text": "qwertz"}]
    data = manifest(tmp_path / "pairs.csv", [{**r, "id": r["id"] + "x"} for r in rows])
    refused = fdch("index", "add", filled, data)
    assert refused.exit_code == 1
    assert "no word that the model knows" in refused.stderr
    skipped = fdch("index", "add", filled, data, "--broken", "skip")
    assert skipped.exit_code == 0
    assert "items   61 (1 new" in skipped.stdout
    assert "skipped 1 broken row" in skipped.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_data_without_a_row_to_use_fails(
    fdch, filled, on_scenes, photo_rows, manifest, tmp_path, options
):
    rows = [{**photo_rows[0], "image": "", "text": "qwertz"}]
    data, options = (
        manifest(tmp_path / "pairs.csv", rows),
        ["--broken", "skip", *options],
    )
    new = ("index", "create", tmp_path / "new", "--run", on_scenes.run)
    for command in (new, ("index", "add", filled)):
        result = fdch(*command, data, *options)
        assert (result.exit_code, result.stdout) == (1, "")
        assert (
            "'pairs' has no rows to use; 1 were skipped, the first, " in result.stderr
        )


def test_codes_of_a_file_are_added_if_the_model_made_them(
    fdch, filled, on_scenes, on_features, tmp_path
):
    codes = tmp_path / "codes.npz"
    assert fdch("encode", on_scenes.run, "scenes:61", "--out", codes).exit_code == 0
    result = fdch("index", "add", filled, codes)
    assert "items   61 (1 new, 60 replaced)" in result.stdout
    with Index.open(filled) as index:
        method = open_run(on_scenes.run).method
        scene = PairedSet.read("scenes:61")[[60]]
        assert index.store.fetch(["scene60"]).codes == method.encode_pairs(scene)
    others = tmp_path / "others.npz"
    fdch("encode", on_features.run, on_features.data, "--out", others)
    refused = fdch("index", "add", filled, others)
    assert refused.exit_code == 1
    for run in (on_scenes.run, on_features.run):
        assert open_run(run).fingerprint in refused.stderr


def test_removed_items_are_counted_and_missing_ones_named(fdch, filled):
    result = fdch("index", "remove", filled, "scene1", "scene2", "scene1", "nobody")
    assert result.exit_code == 0
    assert result.stdout == "removed 2 items; 58 left\n"
    assert result.stderr == "not there: 'nobody'\n"
    again = fdch("index", "remove", filled, "scene1", "--json")
    assert json.loads(again.stdout) == {
        "index": str(filled),
        "removed": 0,
        "missing": ["scene1"],
        "items": 58,
    }


def test_info_shows_size_model_and_columns(fdch, filled, on_scenes):
    document = json.loads(fdch("index", "info", filled, "--json").stdout)
    assert (document["items"], document["bits"]) == (60, 16)
    assert document["model"] == open_run(on_scenes.run).fingerprint
    assert {"scene", "time", "objects"} <= set(document["columns"])
    lines = fdch("index", "info", filled).stdout.splitlines()
    assert ["items", "60"] in [line.split() for line in lines]
    assert show_value({"a": [1000, True], "b": "c"}) == "a 1,000, True, b c"


def test_what_is_no_index_is_said_to_be_none(fdch, tmp_path, on_scenes):
    for words in (("info",), ("add", "scenes:60"), ("remove", "a")):
        name, *more = words
        result = fdch("index", name, tmp_path / "nothing", *more)
        assert result.exit_code == 1
        assert "nothing" in result.stderr
    strange = fdch("index", "info", "http://host/x")
    assert strange.exit_code == 1
    assert "milvus://host:port/collection" in strange.stderr


def test_an_interruption_leaves_what_was_added(fdch, filled, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Index, "add", interrupt)
    result = fdch("index", "add", filled, "scenes:80")
    assert result.exit_code == 130
    assert "keeps its last commit, 60 items" in result.stderr


def test_features_are_indexed_too(fdch, on_features, tmp_path):
    index = tmp_path / "index"
    result = fdch(
        *("index", "create", index, "--run", on_features.run, on_features.data)
    )
    assert result.exit_code == 0, result.stderr
    found = fdch("search", index, "--id", "7", "-k", 3, "--json")
    assert len(json.loads(found.stdout)["results"]) == 3
    refused = fdch("search", index, "--text", "beach")
    assert refused.exit_code == 1
    assert "ready text vectors" in refused.stderr
    assert Path(index).is_dir()
    assert np.load(on_features.data)["image"].shape[0] == 120


def test_a_sound_index_is_verified_and_needs_no_repair(fdch, filled):
    result = fdch("index", "verify", filled)
    assert result.exit_code == 0, result.stdout
    assert result.stdout == f"{filled}: no damage found\n"
    document = json.loads(fdch("index", "verify", filled, "--json").stdout)
    assert document == {"index": str(filled), "clean": True, "problems": []}
    repaired = fdch("index", "repair", filled)
    assert repaired.stdout == f"{filled}: nothing to repair; 60 items\n"


def test_damage_is_found_and_repaired_by_name(fdch, filled):
    rows = next((filled / "codes").glob("*.rows"))
    content = bytearray(rows.read_bytes())
    content[-1] ^= 0xFF
    content[-2] ^= 0xFF
    rows.write_bytes(content)
    found = fdch("index", "verify", filled, "--json")
    assert found.exit_code == 1
    assert not json.loads(found.stdout)["clean"]
    assert "is damaged" in found.stderr
    assert "rows" in fdch("index", "verify", filled).stdout
    repaired = json.loads(fdch("index", "repair", filled, "--json").stdout)
    assert repaired["items"] + len(repaired["lost"]) == 60
    assert repaired["left"] == []
    assert fdch("index", "verify", filled).exit_code == 0


def test_compaction_keeps_answers_and_reclaims(fdch, filled):
    fdch("index", "remove", filled, "scene1")
    words = ("search", filled, "--text", "beach", "-k", 30, "--json")
    before = json.loads(fdch(*words).stdout)["results"]
    document = json.loads(fdch("index", "compact", filled, "--json").stdout)
    assert document["items"] == 59
    assert json.loads(fdch(*words).stdout)["results"] == before
    again = fdch("index", "compact", filled).stdout
    assert "59 items" in again and "more than was reclaimed" not in again


@pytest.mark.parametrize("name", ["verify", "repair", "compact", "duplicates"])
def test_a_server_looks_after_itself(fdch, name):
    result = fdch("index", name, "milvus://localhost/photos")
    assert result.exit_code == 1
    assert "for index folders" in result.stderr


def test_no_radius_is_below_zero(fdch):
    result = fdch("index", "duplicates", "not/there.index", "--radius", -1)
    assert result.exit_code == 2
    assert "'--radius': -1 is not in the range x>=0" in result.stderr


def test_duplicates_are_grouped_largest_first(fdch, filled, on_scenes):
    document = json.loads(fdch("index", "duplicates", filled, "--json").stdout)
    assert (document["index"], document["radius"]) == (str(filled), 0)
    codes = encode_pairs(open_run(on_scenes.run).method, PairedSet.read("scenes:60"))
    assert codes.unified is not None
    expected: dict[bytes, list[str]] = {}
    for row, code in enumerate(codes.unified.packed):
        expected.setdefault(code.tobytes(), []).append(f"scene{row}")
    assert sorted(map(sorted, document["groups"])) == sorted(
        sorted(group) for group in expected.values() if len(group) > 1
    )
    sizes = [len(group) for group in document["groups"]]
    assert sizes == sorted(sizes, reverse=True)
    one = fdch("index", "duplicates", filled, "--radius", 16)
    assert "  (in the evening a huge cottage below the peaks)\n" in one.stdout
    assert one.stdout.endswith("1 group of 60 items within 16 bits\n")
    first = document["groups"][0][0]
    fdch("index", "remove", filled, first)
    again = json.loads(fdch("index", "duplicates", filled, "--json").stdout)
    assert first not in [name for group in again["groups"] for name in group]


def test_a_backup_is_an_index_with_the_same_items(fdch, filled, tmp_path):
    copy = tmp_path / "copy"
    result = fdch("index", "backup", filled, copy, "--json")
    assert json.loads(result.stdout)["items"] == 60
    assert fdch("index", "verify", copy).exit_code == 0
    again = fdch("index", "backup", filled, copy)
    assert again.exit_code == 1
    assert "already exists" in again.stderr


def test_items_are_exported_line_by_line(fdch, filled, tmp_path):
    out = tmp_path / "items.jsonl"
    result = fdch("index", "export", filled, "--out", out, "--json")
    assert json.loads(result.stdout)["items"] == 60
    first = json.loads(out.read_text("utf-8").splitlines()[0])
    assert list(first) == ["id", "text", "image", "labels", "columns", "kind", "code"]
    assert len(first["code"]) == 4  # 16 bits in hexadecimal


def test_what_cannot_be_written_is_refused(fdch, filled, on_scenes, tmp_path):
    export = ("index", "export", filled, "--out", tmp_path / "no" / "items.jsonl")
    assert "there is no folder" in fdch(*export).stderr
    (tmp_path / "file").write_text("kept")
    rebuild = ("index", "rebuild", filled, "--run", on_scenes.run)
    refused = fdch(*rebuild, "--out", tmp_path / "file")
    assert refused.exit_code == 1 and "is a file; name a folder" in refused.stderr
    assert (tmp_path / "file").read_text() == "kept"


def test_an_index_is_rebuilt_with_a_run(fdch, filled, on_scenes, tmp_path):
    new = tmp_path / "new"
    words = ("index", "rebuild", filled, "--run", on_scenes.run, "--out", new)
    document = json.loads(fdch(*words, "--json").stdout)
    assert document["encoded"] + len(document["skipped"]) == 60
    assert json.loads(fdch(*words, "--json").stdout)["encoded"] == 0


def test_a_rebuild_counts_pairs_whose_pictures_have_no_files(
    fdch, filled, on_scenes, photo_rows, manifest, tmp_path
):
    with_files = manifest(tmp_path / "pairs.csv", photo_rows[:20])  # in their place
    assert "20 replaced" in fdch("index", "add", filled, with_files).stdout
    words = ("index", "rebuild", filled, "--run", on_scenes.run, "--out")
    done = fdch(*words, tmp_path / "new")
    assert "encoded 40 pairs by text or picture alone" in done.stderr
    again = fdch(*words, tmp_path / "new", "--json")
    assert json.loads(again.stdout)["halved"] == 40


def test_without_ray_its_engine_is_refused_before_an_index_is_made(
    fdch, on_scenes, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "ray", None)
    name, words = tmp_path / "index", ("--engine", "ray")
    result = fdch("index", "create", name, "--run", on_scenes.run, "scenes:60", *words)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the engine 'ray' needs a package that")
    assert "pip install 'fdch[ray]'" in result.stderr
    assert not name.exists()


def test_types_of_columns_are_shown_and_chosen(fdch, on_scenes, tmp_path):
    index = tmp_path / "index"
    make = ("index", "create", index, "--run", on_scenes.run, "scenes:60")
    assert fdch(*make, "--type", "scene=date").exit_code == 0
    reported = fdch("index", "info", index).stdout
    assert ["objects", "number", "60", "numbers"] in [
        line.split()[:4] for line in reported.splitlines()
    ]
    assert "cells of 'scene' that are not a date:" in reported
    types = json.loads(fdch("index", "info", index, "--json").stdout)["types"]
    assert types["scene"]["counts"] == {"text": 60}
    assert len(types["scene"]["misfits"]) == 20
    fdch("index", "add", index, "scenes:60", "--type", "scene=text")
    types = json.loads(fdch("index", "info", index, "--json").stdout)["types"]
    assert types["scene"]["type"] == "text"
    assert types["scene"]["misfits"] == []
    wrong = fdch("index", "add", index, "scenes:60", "--type", "scene=words")
    assert wrong.exit_code == 2
    assert "a column has no type 'words'" in wrong.stderr


def test_a_type_is_changed_without_data(fdch, on_scenes, tmp_path):
    index, data = tmp_path / "index", tmp_path / "prices.csv"
    rows = [f'p{i},"a {i}",{price}' for i, price in enumerate(("5", "$6", "€7", "8"))]
    data.write_text("\n".join(["id,text,price", *rows]), "utf-8")
    assert fdch("index", "create", index, "--run", on_scenes.run, data).exit_code == 0
    search = ("search", index, "--id", "p0", "--where", "price<7")
    noted = fdch(*search, "--json").stdout
    assert "'fdch index add INDEX --type price=number' makes it" in noted
    changed = fdch("index", "add", index, "--type", "price=number")
    assert changed.stdout.startswith("type of 'price': number, was text\n")
    assert "cells of 'price' that are not a number:\n  p1: $6" in changed.stdout
    assert "Add their data again with the same --type" in changed.stderr
    again = fdch("index", "add", index, "--type", "price=number", "--json")
    assert json.loads(again.stdout)["before"] == {"price": "number"}
    assert json.loads(again.stdout)["types"]["price"]["type"] == "number"
    wrong = fdch("index", "add", index, "--type", "cost=number")
    assert wrong.exit_code == 1 and "'cost', which no item has" in wrong.stderr
    missing = fdch("index", "add", index)
    assert missing.exit_code == 2 and "Missing argument 'DATA'" in missing.stderr


def test_decimal_commas_are_in_ranges(fdch, on_scenes, tmp_path):
    rows = ["id,text,price,size"]
    rows += [f'p{i},"a {i}","{i},50","{i},{i + 2}"' for i in range(10, 15)]
    data, index = tmp_path / "prices.csv", tmp_path / "index"
    data.write_text("\n".join(rows))
    inspected = json.loads(fdch("data", "inspect", data, "--json").stdout)
    assert inspected["columns"]["price"]["type"] == "number"
    make = ("index", "create", index, "--run", on_scenes.run)
    assert fdch(*make, data, "--type", "size=text").exit_code == 0
    columns = json.loads(fdch("index", "info", index, "--json").stdout)["types"]
    assert columns["price"]["type"] == "number"
    assert columns["price"]["counts"] == {"number": 5}
    assert columns["size"]["examples"][0] == "10,12"
    search = ("search", index, "--id", "p10", "--json", "--where")
    found = json.loads(fdch(*search, "price<=12.5").stdout)["results"]
    assert sorted(each["columns"]["price"] for each in found) == [11.5, 12.5]
    (tmp_path / "more.csv").write_text('id,text,price\nq,"a b","1.099,00"')
    assert fdch("index", "add", index, tmp_path / "more.csv").exit_code == 0
    found = json.loads(fdch(*search, "price>1000").stdout)["results"]
    assert [each["columns"]["price"] for each in found] == [1099]


@pytest.mark.parametrize("price", ["{},50 €", "${}.50", "CHF {}.50"])
def test_prices_are_in_ranges_and_sorted(fdch, on_scenes, tmp_path, price):
    rows = [f'p{i},"a {i}","{price.format(i)}"' for i in range(9, 14)]
    data, index = tmp_path / "prices.csv", tmp_path / "index"
    data.write_text("\n".join(["id,text,price", *rows]), "utf-8")
    inspected = json.loads(fdch("data", "inspect", data, "--json").stdout)
    assert inspected["columns"]["price"]["type"] == "number"
    made = fdch("index", "create", index, "--run", on_scenes.run, data)
    assert made.exit_code == 0
    types = json.loads(fdch("index", "info", index, "--json").stdout)["types"]
    assert types["price"]["counts"] == {"number": 5}
    search = ("search", index, "--id", "p13", "--json", "--where", "price<11")
    found = json.loads(fdch(*search, "--sort", "-price").stdout)["results"]
    assert [each["columns"]["price"] for each in found] == [10.5, 9.5]


def test_a_type_for_a_column_that_no_item_has_is_refused(fdch, on_scenes, tmp_path):
    index = tmp_path / "index"
    make = ("index", "create", index, "--run", on_scenes.run)
    wrong = fdch(*make, "scenes:60", "--type", "scenes=text")
    assert wrong.exit_code == 1
    assert "'scenes', which no item has; did you mean 'scene'?" in wrong.stderr
    assert not index.exists()
    # an empty index may know the types of columns that are still to come
    assert fdch(*make, "--type", "price=number").exit_code == 0
    wrong = fdch("index", "add", index, "scenes:60", "--type", "cost=number")
    assert "'cost', which no item has." in wrong.stderr
    assert "Columns are: 'price', 'scene', " in wrong.stderr
    assert json.loads(fdch("index", "info", index, "--json").stdout)["items"] == 0
