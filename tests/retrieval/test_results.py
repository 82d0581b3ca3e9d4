"""What a search gives, as a sequence, as text and as a table in a notebook."""

from PIL import Image

from fdch.index.store import Item
from fdch.retrieval.results import Result, Results

ITEMS = [Item("a", text="a dog", labels=("dog", "pet")), Item("b", image="b.jpg")]
FOUND = Results(
    {"text": "dog"}, (Result(ITEMS[0], 3, 0.914), Result(ITEMS[1], 12, None)), 2, 0.5
)


def test_results_are_a_sequence_that_prints():
    assert (len(FOUND), FOUND[1].id, FOUND.ids) == (2, "b", ["a", "b"])
    assert str(FOUND).splitlines() == ["   3   91%  a  a dog", "  12     ?  b  b.jpg"]
    assert str(Results({}, (), 0, 0.1)) == "nothing was found"


def test_a_repr_is_one_short_line():
    assert repr(FOUND) == "<2 results for 'dog'>"
    assert repr(Results({"text": "x" * 500}, (), 0, 0.1)) == (
        f"<0 results for '{'x' * 60}'>"
    )
    assert repr(Results({"image": None}, (), 0, 0.1)) == "<0 results>"
    assert repr(FOUND[0]) == "<Result 'a', 3 bits apart>"


def test_a_notebook_shows_a_table_and_no_markup_of_items():
    html = FOUND._repr_html_()
    assert html.count("<tr>") == 3
    assert "<td>3</td><td>91%</td><td>a</td><td>a dog</td><td>dog, pet</td>" in html
    item = Item("<script>", text="<b>", labels=("<i>",))
    html = Results({"text": "<u>"}, (Result(item, 1, None),), 1, 0.1)._repr_html_()
    for markup in ("<script>", "<b>", "<i>", "<u>"):
        assert markup not in html


def test_a_notebook_shows_the_pictures_that_are_files(tmp_path):
    Image.new("RGB", (300, 200), "red").save(tmp_path / "red.png")
    (tmp_path / "broken.png").write_text("no picture")
    names = ["red.png", "broken.png", "lost.png"]
    items = [Item(name, image=str(tmp_path / name)) for name in names]
    far = Item("far", image="http://127.0.0.1:9/v1/items/far/picture")
    results = tuple(Result(item, 1, None) for item in [*items, far])
    html = Results({}, results, 4, 0.1)._repr_html_()
    assert html.count("<img") == 1 and html.count("<td></td><td>1</td>") == 3
    assert '<tr><td><img alt="" src="data:image/jpeg;base64,' in html
