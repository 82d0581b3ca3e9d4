"""`fdch search`: a table for people, a document for programs."""

import json

import pytest

from fdch.cli.search import mark_lines, table
from fdch.evaluation.calibration.model import SIDES, Calibration, Model
from fdch.index.store import Item
from fdch.retrieval.results import Match, Result, Results
from fdch.retrieval.searcher import Searcher


@pytest.fixture(scope="module")
def index(fdch, on_scenes, shared_cache, tmp_path_factory):
    place = tmp_path_factory.mktemp("searched") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDCH_CACHE", str(shared_cache))
        made = fdch("index", "create", place, "--run", on_scenes.run, "scenes:60")
    assert made.exit_code == 0, made.stderr
    return place


def test_words_find_rows_of_a_table(fdch, index):
    result = fdch("search", index, "--text", "a car at the beach")
    header, *rows = result.stdout.splitlines()
    assert header.split() == ["bits", "probable", "id", "text", "labels"]
    assert len(rows) == 10
    assert "10 results from 60 codes in" in result.stderr


def test_the_document_has_the_promised_shape(fdch, index):
    result = fdch(
        *("search", index, "--text", "a car at qwertz", "-k", 3, "--json"),
        *("--where", "objects>=1", "--where", "scene in beach,city"),
    )
    document = json.loads(result.stdout)
    names = ["query", "results", "scanned", "milliseconds", "notes"]
    assert list(document) == names
    assert document["query"] == {
        "text": "a car at qwertz",
        "unknown_words": ["qwertz"],
        "read_as": {},
        "k": 3,
        "radius": None,
        "where": ["objects >= 1", "scene in beach,city"],
        "rerank": False,
        "min_probability": None,
        "sort": None,
        "facets": False,
        "offset": 0,
        "group": None,
        "match": "both",
    }
    assert len(document["results"]) == 3
    for found in document["results"]:
        assert list(found) == [
            *("id", "distance", "probability", "text", "image", "labels", "columns"),
            "matched",
        ]
        for match in found["matched"]:
            assert match["word"] in ("a", "car", "at")
            assert found["text"][match["start"] : match["end"]].startswith(
                match["word"]
            )
        assert found["probability"] is None  # validation pairs are too few
        assert found["columns"]["scene"] in ("beach", "city")


def test_words_that_match_are_bold(fdch, index):
    found = Results(
        {},
        (
            Result(
                Item("a", text="two dogs run"), 1, None, matched=(Match("dog", 4, 8),)
            ),
            Result(
                Item("b", text="a\x1b[2J dog"), 2, None, matched=(Match("dog", 6, 9),)
            ),
            Result(
                Item("c", text="x" * 47 + " dog"),
                3,
                None,
                matched=(Match("dog", 48, 51),),
            ),
        ),
        3,
        0.0,
    )
    lines = mark_lines(found)
    assert "two \x1b[1mdogs\x1b[0m run" in lines[1]
    assert sum(line.count("\x1b") for line in lines) == 2
    result = fdch("search", index, "--text", "beach", "--match", "words", "-k", 2)
    assert "beach" in result.stdout
    assert "\x1b" not in result.stdout  # a pipe is no terminal


def test_words_alone_need_words(fdch, index, photo_rows):
    by_picture = fdch(
        "search", index, "--image", photo_rows[3]["image"], "--match", "words"
    )
    assert by_picture.exit_code == 1
    assert "words cannot be matched" in by_picture.stderr


def test_a_picture_and_an_item_can_be_queries(fdch, index, photo_rows):
    by_image = fdch("search", index, "--image", photo_rows[3]["image"], "--rerank")
    assert len(by_image.stdout.splitlines()) == 11
    by_id = fdch("search", index, "--id", "scene3", "-k", 59, "--json")
    ids = [found["id"] for found in json.loads(by_id.stdout)["results"]]
    assert len(ids) == 59
    assert "scene3" not in ids


def test_parts_are_searched_with_together(fdch, index, photo_rows):
    picture = photo_rows[0]["image"]
    words = ["--text", "beach -ball", "--image", picture, "--like", "scene1"]
    words += ["--like", "scene2", "--unlike", "scene3", "--avoid", "tree"]
    found = json.loads(fdch("search", index, *words, "-k", 30, "--json").stdout)
    query = found["query"]
    assert query["text"] == "beach"
    assert query["avoid"] == ["tree", "ball"]
    assert (query["like"], query["unlike"]) == (["scene1", "scene2"], ["scene3"])
    ids = {each["id"] for each in found["results"]}
    assert ids
    assert not ids & {"scene1", "scene2", "scene3"}
    texts = " ".join(each["text"] for each in found["results"]).split()
    assert not {"ball", "tree"} & {*texts}
    assert {each["probability"] for each in found["results"]} == {None}


def test_pages_and_groups(fdch, index):
    def search(*words):
        found = fdch("search", index, "--text", "beach", *words, "--json")
        return json.loads(found.stdout)

    long = search("-k", 8)["results"]
    pages = [search("-k", 4, "--offset", at)["results"] for at in (0, 4)]
    assert pages[0] + pages[1] == long
    grouped = search("-k", 40, "--group", 32)["results"]
    assert all("similar" not in each for each in long)
    assert all(isinstance(each["similar"], list) for each in grouped)
    shown = fdch("search", index, "--text", "beach", "--group", 32)
    assert "similar" in shown.stdout.splitlines()[0]


def test_a_radius_gives_all_within(fdch, index):
    document = json.loads(
        fdch("search", index, "--text", "beach", "--radius", 16, "--json").stdout
    )
    assert len(document["results"]) == 60


def test_nothing_may_fit(fdch, index, monkeypatch):
    even = Model((0.0,) * 5, (1.0,) * 5, (0.0,) * 8)  # one half, always
    models = {"text": {kind: {"plain": even} for kind in SIDES}}
    known = Calibration(16, 10, 0, models)
    monkeypatch.setattr(Searcher, "calibration", property(lambda _: known))
    search = ("search", index, "--text", "beach", "--min-probability")
    assert "0.50" in fdch(*search, 0.5).stdout
    result = fdch(*search, 0.6)
    assert result.exit_code == 0
    assert result.stdout == "no results\n"
    assert (
        "no result reaches that probability; give a lower --min-prob" in result.stderr
    )


def test_unknown_words_are_reported(fdch, index):
    partly = fdch("search", index, "--text", "beach qwertz")
    assert "words not known to the model: qwertz" in partly.stderr
    slipped = fdch("search", index, "--text", "beach beahc")
    assert "words not known to the model: beahc" in slipped.stderr
    assert "note: did you mean 'beach' for 'beahc'?" in slipped.stderr
    wholly = fdch("search", index, "--text", "beech")
    assert wholly.exit_code == 1
    assert "no word of 'beech' is known" in wholly.stderr
    assert "beach" in wholly.stderr


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        ([], 2, "give --id alone, or any of --text, --image and --like"),
        (["--text", "a", "--id", "b"], 2, "give --id alone"),
        (["--avoid", "beach"], 1, "nothing to search for; give text, image or like"),
        (["--text", "-beach"], 1, "nothing to search for"),
        (["--like", "scene1", "--unlike", "scene1"], 1, "'scene1' is in like and in"),
        (["--text", "beach", "--like", "Scen3"], 1, "has no item 'Scen3'. Check the"),
        (["--text", "beach", "--avoid", "?"], 1, "'?' in avoid has no word in it"),
        (["--text", "beach", "--offset", 9_999], 1, "10,000 at most together"),
        (["--text", " "], 1, "the text is empty; enter some words. Some that"),
        (["--text", "beach", "-k", 0], 2, "'-k': 0 is not in the range x>=1"),
        (["--text", "beach", "--where", "x"], 2, "'--where': 'x' is not a condition"),
        (["--text", "beach", "--where", "scen=x"], 1, "did you mean 'scene'"),
        (["--id", "nobody"], 1, "has no item 'nobody'. Check the spelling"),
        (["--id", "scene1", "--rerank"], 1, "Search by its text or picture"),
        (["--image", "gone.png"], 1, "'gone.png': there is no such file in '/"),
        (["--image", "gone/a.png"], 1, "gone'; check the path"),
        (["--image", "/"], 1, "it is a folder; name one picture"),
        (["--image", __file__], 1, "Save it as one of JPEG, PNG"),
    ],
)
def test_wrong_questions_are_explained(fdch, index, words, code, complaint):
    result = fdch("search", index, *words)
    assert result.exit_code == code
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-k", 0], "0 is not in the range x>=1"),
        (["--radius", -1], "-1 is not in the range x>=0"),
        (["--min-probability", 2], "2.0 is not in the range 0<=x<=1"),
        (["--min-probability", "nan"], "nan is not a finite number"),
        (["--where", "nonsense"], "'nonsense' is not a condition. Write 'column="),
        (["--where", "a" * 10_001], "10,000 is the most"),
    ],
)
def test_wrong_usage_is_noticed_before_an_index_is_opened(fdch, words, complaint):
    result = fdch("search", "not/there.index", "--text", "beach", *words)
    assert result.exit_code == 2
    assert f"Invalid value for '{words[0]}': " in result.stderr
    assert complaint in result.stderr


def test_a_terminal_obeys_no_text_of_an_item():
    item = Item("a\x1b[2J", text="b\x07", labels=("c\x1b",))
    shown = str(table(Results({}, (Result(item, 3, None),), 1, 0.1)))
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_results_are_sorted_by_a_column(fdch, index):
    query = ("search", index, "--text", "a car at the beach", "-k", 20, "--json")
    for sort, is_falling in (("objects", False), ("-objects", True)):
        document = json.loads(fdch(*query, "--sort", sort).stdout)
        cells = [each["columns"]["objects"] for each in document["results"]]
        numbers = [int(cell) for cell in cells]
        assert numbers == sorted(numbers, reverse=is_falling)
        assert document["query"]["sort"] == sort
        assert document["notes"] == []
    wrong = fdch(*query, "--sort", "object")
    assert wrong.exit_code == 1
    assert "did you mean 'objects'" in wrong.stderr


def test_a_value_that_no_item_has_is_noted(fdch, index):
    query = ("search", index, "--text", "a car", "--where", "scene=beech")
    result = fdch(*query)
    assert result.exit_code == 0
    assert "note: no item has scene 'beech'; did you mean 'beach'?" in result.stderr
    document = json.loads(fdch(*query, "--json").stdout)
    assert document["notes"] == ["no item has scene 'beech'; did you mean 'beach'?"]
    assert document["results"] == []


def test_values_are_counted_beside_results(fdch, index):
    query = ("search", index, "--text", "a car", "--where", "scene=beach", "--facets")
    found = json.loads(fdch(*query, "--json").stdout)["facets"]
    scenes = {each["value"]: each["count"] for each in found["columns"]["scene"]}
    assert sum(scenes.values()) == 60
    assert found["items"] == scenes["beach"]
    objects = sum(each["count"] for each in found["columns"]["objects"])
    assert objects == scenes["beach"]
    words = ("--match", "words", "-k", 300, "--json")
    matched = json.loads(fdch(*query, *words).stdout)
    assert matched["facets"]["items"] == len(matched["results"])
    table = fdch(*query).stdout
    assert f"of {found['items']} items that the search can return" in table
