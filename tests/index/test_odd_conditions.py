"""Wrong and odd conditions: none fails silently; each has its error or its note."""

from typing import Any

import pytest
from tests.index.store_samples import random_codes

from fdch.errors import FdchError
from fdch.index.conditions import parse_condition
from fdch.index.storage.folder import CodeFolder
from fdch.index.store import Item

ROOMS = ["kitchen", "bathroom", "garden", "bedroom", "Hall"]
NAMES = ["Nikon", "Nikkor", "canon", "Leica", "7artisans"]
PRICES: list[Any] = [5, 12.5, 20, 25, 30, "12,50", 40, None]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    items = [
        Item(
            f"item {i}",
            labels=(ROOMS[i % 5],),
            columns={
                "price": PRICES[i % 40] if i % 40 < 8 else i,
                "name": NAMES[i % 5],
                "date": f"2024-0{1 + i % 5}-1{i % 10}",
                "sold": i % 2 == 0,
                "size": "large" if i % 3 else i,
            },
        )
        for i in range(40)
    ]
    path = tmp_path_factory.mktemp("odd") / "index"
    with CodeFolder.create(path, 32, "model") as folder:
        folder.add(items, random_codes(40))
        yield folder


ERROR, NOTE = "error", "note"
ODD = [
    # signs in the wrong order, doubled, or of other languages
    ("price=>20", ERROR, "did you mean 'price>=20'?"),
    ("price=<20", ERROR, "did you mean 'price<=20'?"),
    ("price==20", ERROR, "did you mean 'price=20'?"),
    ("price===20", ERROR, "did you mean 'price=20'?"),
    ("price<>20", ERROR, "did you mean 'price!=20'?"),
    ("price=!20", ERROR, "did you mean 'price!=20'?"),
    ("price!20", ERROR, "did you mean 'price!=20'?"),
    ("price > = 20", ERROR, "did you mean 'price>=20'?"),
    ("price>>20", ERROR, "did you mean 'price>20'?"),
    ("price:20", ERROR, "did you mean 'price=20'?"),
    ("price:=20", ERROR, "did you mean 'price=20'?"),
    ("name~Nik", ERROR, "did you mean 'name^=Nik'?"),
    ("name=~Nik", ERROR, "did you mean 'name^=Nik'?"),
    # typographic signs
    ("price‹20", ERROR, "did you mean 'price<20'?"),
    ("price›20", ERROR, "did you mean 'price>20'?"),
    ("price≤20", ERROR, "did you mean 'price<=20'?"),
    ("price≥20", ERROR, "did you mean 'price>=20'?"),
    ("price≠20", ERROR, "did you mean 'price!=20'?"),
    ("price＝20", ERROR, "did you mean 'price=20'?"),
    ("price‹=20", ERROR, "did you mean 'price<=20'?"),
    ("label=“kitchen”", ERROR, "did you mean 'label=\"kitchen\"'?"),
    # words in place of signs
    ("price is 20", ERROR, "did you mean 'price=20'?"),
    ("price less than 20", ERROR, "did you mean 'price<20'?"),
    ("price at least 20", ERROR, "did you mean 'price>=20'?"),
    ("price between 10 and 20", ERROR, "did you mean 'price>=10' and 'price<=20'"),
    ("name like Nik%", ERROR, "did you mean 'name^=Nik'?"),
    ("label kitchen", ERROR, "did you mean 'label=kitchen'?"),
    ("label IN kitchen,garden", ERROR, "did you mean 'label in kitchen,garden'?"),
    ("label in (kitchen, garden)", ERROR, "did you mean 'label in kitchen, garden'?"),
    ("label not in kitchen,Hall", ERROR, "'label!=kitchen' and 'label!=Hall'"),
    # several conditions in one
    ("10<price<20", ERROR, "did you mean 'price>10' and 'price<20', two conditions?"),
    ("price>10 and price<20", ERROR, "did you mean 'price>10' and 'price<20', two"),
    ("label=Hall && price<20", ERROR, "did you mean 'label=Hall' and 'price<20', two"),
    ("price=20; sold=true", ERROR, "did you mean 'price=20' and 'sold=true', two"),
    ("price=20 or price=25", ERROR, "did you mean 'price in 20,25'?"),
    # parts are missing
    ("price", ERROR, "'price' is not a condition."),
    ("price=", ERROR, "'price=' is not a condition."),
    ("=20", ERROR, "'=20' is not a condition."),
    # columns
    ("prize<20", ERROR, "no item has a column 'prize'; did you mean 'price'?"),
    ("Price<20", ERROR, "no item has a column 'Price'; did you mean 'price'?"),
    ("labels=kitchen", ERROR, "no item has a column 'labels'; did you mean 'label'?"),
    ("20<price", ERROR, "no item has a column '20'; did you mean 'price>20'?"),
    # numbers
    ("price<cheap", ERROR, "'price' is a column of numbers, and 'cheap' is no number."),
    ("price<12,50", ERROR, "'12,50' is no number; did you mean 'price<12.50'?"),
    ("price<1,000", ERROR, "did you mean 'price<1000'?"),
    ("price<20€", ERROR, "did you mean 'price<20'?"),
    ("price<$20", ERROR, "did you mean 'price<20'?"),
    ("price>−5", ERROR, "did you mean 'price>-5'?"),
    ("price<2O", ERROR, "did you mean 'price<20'?"),
    ("price<nan", ERROR, "'nan' is no number."),
    ("price<=10..20", ERROR, "did you mean 'price>=10' and 'price<=20'?"),
    ("price^=2", ERROR, "'^=' compares beginnings of texts; did you mean 'price=2'?"),
    ("price=21.5", NOTE, "no item has price '21.5'; next to it are 21 and 22."),
    ("price=10 €", NOTE, "which is no number; did you mean 'price=10'?"),
    ("price>100", NOTE, "no item has price > 100; they go from 5 to 40."),
    ("price<=20", NOTE, "1 item has a price that is no number, such as '12,50', and"),
    # texts
    ("label=kitchn", NOTE, "no item has label 'kitchn'; did you mean 'kitchen'?"),
    ("label=Kitchen", NOTE, "no item has label 'Kitchen'; did you mean 'kitchen'?"),
    ("label='kitchen'", NOTE, "did you mean 'kitchen'?"),
    (
        "label in kitchen,gardn",
        NOTE,
        "no item has label 'gardn'; did you mean 'garden'",
    ),
    ("label!=kitchn", NOTE, "no item has label 'kitchn'; did you mean 'kitchen'?"),
    ("label=cellar", NOTE, "no item has label 'cellar'."),
    ("name=Nik*", NOTE, "for a beginning, write 'name^=Nik'."),
    ("name^=nik", NOTE, "begins with 'nik'; did you mean 'name^=Nik'?"),
    ("size<20", NOTE, "'size' is a column of texts: '20' is compared with numbers in"),
    # dates
    ("date>=2024-13", ERROR, "'2024-13' is no date."),
    ("date>=01.05.2024", ERROR, "is no date; did you mean 'date>=2024-05-01'?"),
    ("date>=2024/5/1", ERROR, "did you mean 'date>=2024-05-01'?"),
    ("date<May 2024", ERROR, "did you mean 'date<2024-05'?"),
    ("date<yesterday", ERROR, "Write a date such as 2024-05-01, 2024-05 or"),
    ("date=2025", NOTE, "no item has date '2025'; they go from 2024-01-10 to"),
    ("date=1 May 2024", NOTE, "is no date; did you mean 'date=2024-05-01'?"),
    # true and false
    ("sold=treu", NOTE, "which is no truth value; did you mean 'sold=true'?"),
    ("sold>true", ERROR, "'>' compares numbers, dates and texts; did you mean 'sold="),
]


@pytest.mark.parametrize(("written", "kind", "expected"), ODD, ids=[o[0] for o in ODD])
def test_no_condition_fails_silently(shop, written, kind, expected):
    try:
        condition = parse_condition(written)
        said, is_note = " ".join(shop.notes([condition])), True
    except FdchError as problem:
        said, is_note = str(problem), False
    assert expected in said
    assert is_note == (kind == NOTE)


def test_there_are_sixty_of_them():
    assert len(ODD) >= 60


@pytest.mark.parametrize(
    "written",
    ["price=20", "label=kitchen", "name^=Nik", "date>=2024-02", "sold=yes", "size=3"],
)
def test_a_condition_that_finds_something_says_nothing(shop, written):
    assert shop.notes([parse_condition(written)]) == ()


def test_conditions_that_exclude_one_another_say_so(shop):
    where = [parse_condition("label=kitchen"), parse_condition("name=Leica")]
    assert shop.notes(where) == ("no item fulfils all 2 conditions together.",)


def test_a_dirty_price_leaves_the_range_filter(shop):
    below = [parse_condition("price<=12.5")]
    assert set(shop.within(random_codes(1), 32, below)[0].ids) == {
        "item 0",
        "item 1",
        *(f"item {i}" for i in range(8, 13)),
    }
    dirty = shop.within(random_codes(1), 32, [parse_condition('price="12,50"')])
    assert dirty[0].ids == ("item 5",)


@pytest.mark.parametrize("text", ["a" + " " * 9000 + "b", "x" * 9000, "=<" * 4500])
def test_long_nonsense_is_refused_too(text):
    with pytest.raises(FdchError, match="is not a condition"):
        parse_condition(text)
