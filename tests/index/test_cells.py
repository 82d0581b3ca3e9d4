import pytest

from fdch.index.cells import as_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10", 10),
        ("-3.5", -3.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), 2.0**63),
        ("9" * 399, None),
        ("9" * 5000, None),
        ("1e999", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        ("٣", None),
        (" 1", None),
    ],
)
def test_numbers_are_read_from_text(text, number):
    assert as_number(text) == number
