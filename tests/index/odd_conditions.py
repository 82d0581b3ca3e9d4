"""Items of a shop, and conditions on them that are wrong or odd."""

from typing import Any

from fdch.index.store import Item

ROOMS = ["kitchen", "bathroom", "garden", "bedroom", "Hall"]
NAMES = ["Nikon", "Nikkor", "canon", "Leica", "7artisans"]
PRICES: list[Any] = [5, 12.5, 20, 25, 30, "12,50", 40, None]
SHOP = [
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
    (
        "price<cheap",
        ERROR,
        "'price' is a column of numbers, and 'cheap' is not a number.",
    ),
    ("price<12,50", ERROR, "'12,50' is not a number; did you mean 'price<12.50'?"),
    ("price<1,000", ERROR, "did you mean 'price<1000'?"),
    ("price<20€", ERROR, "did you mean 'price<20'?"),
    ("price<$20", ERROR, "did you mean 'price<20'?"),
    ("price>−5", ERROR, "did you mean 'price>-5'?"),
    ("price<2O", ERROR, "did you mean 'price<20'?"),
    ("price<nan", ERROR, "'nan' is not a number."),
    ("price<=10..20", ERROR, "did you mean 'price>=10' and 'price<=20'?"),
    ("price^=2", ERROR, "'^=' compares beginnings of texts; did you mean 'price=2'?"),
    ("price=21.5", NOTE, "no item has price '21.5'; next to it are 21 and 22."),
    ("price=10 €", NOTE, "which is not a number; did you mean 'price=10'?"),
    ("price>100", NOTE, "no item has price > 100; they go from 5 to 40."),
    (
        "price<=20",
        NOTE,
        "1 item has a price that is not a number, such as '12,50', and",
    ),
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
    ("date>=2024-13", ERROR, "'2024-13' is not a date."),
    ("date>=01.05.2024", ERROR, "is not a date; did you mean 'date>=2024-05-01'?"),
    ("date>=2024/5/1", ERROR, "did you mean 'date>=2024-05-01'?"),
    ("date<May 2024", ERROR, "did you mean 'date<2024-05'?"),
    ("date<yesterday", ERROR, "Write a date such as 2024-05-01, 2024-05 or"),
    ("date=2025", NOTE, "no item has date '2025'; they go from 2024-01-10 to"),
    ("date=1 May 2024", NOTE, "is not a date; did you mean 'date=2024-05-01'?"),
    # true and false
    ("sold=treu", NOTE, "which is not a truth value; did you mean 'sold=true'?"),
    ("sold>true", ERROR, "'>' compares numbers, dates and texts; did you mean 'sold="),
]
