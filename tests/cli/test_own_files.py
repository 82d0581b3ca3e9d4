"""A table with names of its own, through every command that takes data."""

import json
import shutil

import click
import numpy as np
import pytest
from PIL import Image

from fdch.cli.shared.options import parse_columns

COLUMNS = "text=Titel,labels=Art,image=Foto"


@pytest.fixture
def shop(tmp_path):
    """A table of 40 products with pictures beside it."""
    (tmp_path / "fotos").mkdir()
    rng = np.random.default_rng(0)
    lines = ["Nr;Foto;Titel;Art;title"]
    for number in range(40):
        kind, colour = [("Tasse", (200, 30, 30)), ("Hose", (30, 30, 200))][number % 2]
        noise = rng.integers(-20, 20, (16, 16, 3))
        pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "fotos" / f"{number}.png")
        lines.append(rf"{number};fotos\{number}.png;schöne {kind};{kind};nothing")
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(lines), encoding="cp1252")
    return path


@pytest.mark.parametrize("text", ["title", "text=", "=title", "text=a,text=b", " , "])
def test_columns_that_say_nothing_are_refused(text):
    with pytest.raises(click.BadParameter, match=r"understood|names nothing"):
        parse_columns(text)


def test_inspect_reads_the_columns_named(fdch, shop):
    result = fdch("data", "inspect", shop, "--columns", COLUMNS, "--json")
    document = json.loads(result.stdout)
    assert document["labels"] == {"Hose": 20, "Tasse": 20}
    assert document["with_image"] == document["with_text"] == 40
    assert any("cp1252" in note for note in document["notes"])
    wrong = fdch("data", "inspect", shop, "--columns", "text=Titl")
    assert wrong.exit_code == 1 and "did you mean 'Titel'" in wrong.stderr


@pytest.mark.integration
def test_a_run_remembers_how_its_data_was_read(fdch, shop, tmp_path):
    run, index = tmp_path / "run", tmp_path / "index"
    settings = ("--method", "dch", "--bits", 8, "--columns", COLUMNS)

    def succeed(*words):
        result = fdch(*words)
        assert result.exit_code == 0, result.stderr
        return result

    succeed("train", shop, *settings, "--out", run)
    facts = json.loads((run / "run.json").read_text())
    assert facts["data"]["columns"] == parse_columns(COLUMNS)
    succeed("evaluate", run)
    codes = tmp_path / "codes.npz"
    document = json.loads(succeed("encode", run, shop, "--out", codes, "--json").stdout)
    assert document["with_image"] == 40
    succeed("index", "create", index, "--run", run, shop)
    found = json.loads(succeed("search", index, "--text", "Tasse", "--json").stdout)
    assert found["results"][0]["labels"] == ["Tasse"]
    shutil.move(shop.parent / "fotos", tmp_path / "elsewhere")
    lost = fdch("evaluate", run)
    assert lost.exit_code == 1 and "there is no picture" in lost.stderr
    succeed("evaluate", run, "--pictures", tmp_path / "elsewhere")
    more = ("--columns", COLUMNS, "--pictures", tmp_path / "elsewhere")
    succeed("index", "add", index, shop, *more)
    out = tmp_path / "settings.toml"
    tuned = succeed("tune", shop, *settings, *more[2:], "--minutes", 0.02, "--out", out)
    assert f"--columns {COLUMNS} --pictures" in tuned.stdout
    recipe = ("table2", "--methods", "dch", "--bits", 8, "--seeds", 1)
    succeed("reproduce", *recipe, "--data", shop, *more, "--out", tmp_path / "table")
    whole = tmp_path / "whole"
    trained = succeed("train", shop, *settings, *more[2:], "--use-all", "--out", whole)
    assert "fdch index create INDEX" in trained.stdout
    scored = fdch("evaluate", whole)
    assert scored.exit_code == 1 and "there are no test queries" in scored.stderr


def test_a_run_remembers_columns_and_broken_rows(fdch, shop, tmp_path):
    run, index = tmp_path / "run", tmp_path / "index"
    with shop.open("a", encoding="cp1252") as file:
        file.write("\n40;fotos\\gone.png;lost;Tasse;nothing")
    how = ("--columns", f"id=Nr,{COLUMNS}", "--broken", "skip")
    trained = fdch("train", shop, "--method", "dch", "--bits", 8, *how, "--out", run)
    assert trained.exit_code == 0, trained.stderr
    made = fdch("index", "create", index, "--run", run, shop)
    assert made.exit_code == 0, made.stderr
    assert "items   40 (40 new" in made.stdout
    second = tmp_path / "second.csv"
    second.write_text("Nr;Titel;Art\n50;Tasse;Tasse\n3;Hose;Hose\n")
    added = fdch("index", "add", index, second)
    assert "items   41 (1 new, 1 replaced, 1 of them joined" in added.stdout
    assert "column 'Nr' is read as 'id', as in training" in added.stderr


def test_using_all_pairs_leaves_no_sizes_to_choose(fdch, tmp_path):
    words = ("train", "scenes:60", "--use-all", "--out", tmp_path / "run")
    for more in (("--query-pairs", 5, "--train-pairs", 20), ("--split", "s.json")):
        result = fdch(*words, *more)
        assert result.exit_code == 2 and "leave out the split" in result.stderr
