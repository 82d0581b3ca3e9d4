"""Types of columns: how a cell is read, which type a column has, what was meant.

Numbers are written as in JSON, dates as in ISO 8601, truth as true, false, yes or no.
A column has the type of four in five of its cells, else it holds texts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, cast, get_args

from fdch.errors import DataError, SettingError, suggestion
from fdch.index.cells import Value, as_number, write_cell
from fdch.index.store import LABEL, Cell, ColumnFacts, ColumnType, Condition

TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
MAX_LISTED = 20
_SHOWN = 3
_SHARE = 0.8
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_DATE = re.compile(
    r"\d{4}(-\d\d(-\d\d([T ]([01]\d|2[0-3]):\d\d(:\d\d(\.\d+)?)?"
    r"(Z|[+-](0\d|1[0-4]):[0-5]\d)?)?)?)?",
    re.ASCII,
)
_YEARS = range(2, 9999)  # whose periods and zones are all within the calendar
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct"]
_MONTHS += ["nov", "dec"]
_BETWEEN = re.compile(r"(\S+?)\s*(?:\.\.+|…|–|\bto\b|\band\b)\s*(\S+)")
KINDS = {"number": "number", "date": "date", "boolean": "truth value"}
_MANY = {"number": "numbers", "date": "dates", "boolean": "truth values"}
_MANY |= {"text": "texts"}
_HOW = {
    "number": "Write a number such as 20 or 12.5",
    "date": "Write a date such as 2024-05-01, 2024-05 or 2024-05-01T12:30",
}


class Period(NamedTuple):
    """The time that a date names, from its start up to its end, in UTC.

    A day, month or year is all of it; a time of day is the microsecond it names.
    """

    start: datetime
    end: datetime


def read_date(text: str) -> Period | None:
    """Read an ISO date, with a time or without; a time without a zone is UTC.

    >>> read_date("2024-02").end.isoformat()
    '2024-03-01T00:00:00+00:00'
    >>> read_date("2024-02-30") is None
    True
    """
    if not _DATE.fullmatch(text) or int(text[:4]) not in _YEARS:
        return None
    try:
        start = datetime.fromisoformat(text + "-01-01"[len(text) - 4 :])
    except ValueError:
        return None
    start = start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
    if len(text) > 10:
        return Period(start, start + timedelta(microseconds=1))
    if len(text) == 10:
        return Period(start, start + timedelta(days=1))
    if len(text) == 4:
        return Period(start, start.replace(year=start.year + 1))
    return Period(start, (start + timedelta(days=31)).replace(day=1))


def compare_dates(cell: Period, operator: str, wanted: Period) -> bool:
    """Compare a cell with a date, by its start; "=" means inside of it."""
    return {
        "<": cell.start < wanted.start,
        "<=": cell.start < wanted.end,
        ">": cell.start >= wanted.end,
        ">=": cell.start >= wanted.start,
        "=": cell.start >= wanted.start and cell.end <= wanted.end,
    }[operator]


def read_truth(value: Value) -> bool | None:
    """Read true, false, yes, no, 1 or 0, in capitals or not; None for all else.

    >>> read_truth("Yes"), read_truth("1.0"), read_truth("2")
    (True, True, None)
    """
    if isinstance(value, str):
        number = as_number(value)
        if number is None:
            return _TRUTHS.get(value.lower())
        value = number
    return bool(value) if value in (0, 1) else None


def truth_spellings(is_true: bool) -> tuple[Value, ...]:
    """Return all values of cells that say true, or false."""
    words = [word for word, means in _TRUTHS.items() if means == is_true]
    cased = [each for word in words for each in (word, word.title(), word.upper())]
    return (*cased, int(is_true))


@lru_cache(maxsize=2**16)
def type_of(value: Value) -> ColumnType:
    """Return the type of one cell, as filters keep it; a year alone is a number."""
    if not isinstance(value, str):
        return "number"
    if value.lower() in _TRUTHS:
        return "boolean"
    return "date" if len(value) >= 7 and read_date(value) else "text"


def fits(value: Value, type: ColumnType) -> bool:
    """Return whether a cell can be compared as a type."""
    if type == "boolean":
        return read_truth(value) is not None
    return type == "text" or type_of(value) == type


def find_type(counts: Mapping[ColumnType, int]) -> ColumnType | None:
    """Choose a column's type by how many cells are of each; None without a cell.

    >>> find_type({"number": 294, "text": 1}), find_type({"number": 3, "text": 1})
    ('number', 'text')
    """
    total = sum(counts.values())
    for type in TYPES:
        if total and counts.get(type, 0) >= _SHARE * total:
            return type
    return "text" if total else None


def find_types(
    columns: Mapping[str, Iterable[Cell]],
) -> dict[str, ColumnType]:
    """Choose the types of columns by all their cells; those without a cell have none.

    >>> find_types({"price": [1, "2.5", None], "name": ["a", "7"], "x": [None]})
    {'price': 'number', 'name': 'text'}
    """
    found = {}
    for name, cells in columns.items():
        type = find_type(Counter(map(type_of, _values(cells))))
        if type is not None and name != LABEL:
            found[name] = type
    return found


def describe_column(
    cells: Iterable[tuple[str, Cell]], chosen: ColumnType | None = None
) -> ColumnFacts | None:
    """Describe a column by the cells of all items, each behind its item's id.

    Its type is found unless one is chosen.

    Returns:
        None for a column without a cell.

    >>> describe_column([("a", 1), ("b", 2.5), ("c", None)]).counts
    {'number': 2, 'empty': 1}
    """
    listed = list(cells)
    known = [(id, write_cell(cell), v) for id, cell in listed for v in _values([cell])]
    counts = Counter(type_of(value) for *_, value in known)
    if (found := find_type(counts)) is None:
        return None
    type = chosen or found
    right = dict.fromkeys(text for _, text, value in known if fits(value, type))
    wrong = [(id, text) for id, text, value in known if not fits(value, type)]
    by_type = count_types(counts, len(listed) - len(known))
    return ColumnFacts(type, by_type, list(right)[:_SHOWN], wrong[:MAX_LISTED])


def count_types(counts: Mapping[ColumnType, int], empty: int) -> dict[str, int]:
    """Order counts by type, the empty cells last; without those that are 0."""
    named = {name: counts.get(name, 0) for name in TYPES} | {"empty": empty}
    return {name: count for name, count in named.items() if count}


def _values(cells: Iterable[Cell]) -> Iterator[Value]:
    """Return cells as filters keep them; the empty ones are left out."""
    for cell in cells:
        if cell is not None:
            text = write_cell(cell)
            number = as_number(text)
            yield text if number is None else number


def read_types(given: Mapping[str, object]) -> dict[str, ColumnType]:
    """Check types that a user chose."""
    for name, type in given.items():
        if type not in TYPES:
            hint = suggestion(str(type), TYPES) or f"; write one of {', '.join(TYPES)}."
            raise SettingError(f"a column has no type '{type}' ('{name}'){hint}")
        if not isinstance(name, str) or not name or name == LABEL:
            raise SettingError(f"'{name}' cannot be given a type.")
    return cast("dict[str, ColumnType]", dict(given))


def require_typed_columns(types: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the type of a column that no item has; name the nearest known one."""
    names = [name for name in known if name != LABEL]
    require_names("a type is given for column '{}', which no item has", types, names)


def require_names(said: str, wanted: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a column that is not known; name the nearest, and some that are."""
    for name in wanted:
        if name not in known:
            hint = suggestion(name, known) or "."
            listed = ", ".join(f"'{each}'" for each in known[:20]) or "none"
            raise DataError(
                f"{said.format(name)}{hint} Columns are: {listed}"
                f"{', ...' if len(known) > 20 else ''}."
            )


def sort_key(type: ColumnType, cell: Cell) -> tuple[int, object] | None:
    """Return what a cell is sorted by; None for one that is empty or does not fit."""
    value = next(_values([cell]), None)
    if value is None or not fits(value, type):
        return None
    if type == "date":
        period = read_date(str(value))
        return None if period is None else (0, period.start)
    if type == "boolean":
        return (0, read_truth(value))
    return (int(isinstance(value, str)), value)  # numbers before texts


def check_condition(condition: Condition, type: ColumnType) -> None:
    """Refuse a comparison that a column's type does not have, or a value of another."""
    column, operator, values = condition.column, condition.operator, condition.values
    if not values or (len(values) > 1 and operator != "in"):
        raise DataError(
            f"a condition with '{operator}' on '{column}' has {len(values)} values; it "
            "takes one, and 'in' one or more."
        )
    if type == "text" or operator in ("=", "!=", "in"):
        return
    value = values[0]
    if operator == "^=" or type == "boolean":
        equal = nearest_meaning(column, "=", value, type) or f"'{column}={value}'"
        what = "beginnings of texts" if operator == "^=" else "numbers, dates and texts"
        raise DataError(
            f"'{column}' is a column of {_MANY[type]}, and '{operator}' compares "
            f"{what}; did you mean {equal}?"
        )
    if (as_number(value) if type == "number" else read_date(value)) is None:
        meant = nearest_meaning(column, operator, value, type)
        hint = f"; did you mean {meant}?" if meant else "."
        raise DataError(
            f"'{column}' is a column of {_MANY[type]}, and '{value[:60]}' is not "
            f"a {KINDS[type]}{hint} {_HOW[type]}."
        )


def nearest_meaning(column: str, operator: str, value: str, type: ColumnType) -> str:
    """Write the condition that was probably meant; nothing where none comes near."""
    read = {"number": _guess_number, "date": _guess_date, "boolean": _guess_truth}[type]
    if between := _BETWEEN.fullmatch(value.strip()):
        low, high = read(between[1]) or between[1], read(between[2]) or between[2]
        if all(as_number(end) is not None or read_date(end) for end in (low, high)):
            return f"'{column}>={low}' and '{column}<={high}'"
    return f"'{column}{operator}{meant}'" if (meant := read(value)) else ""


def strip_quotes(text: str) -> str:
    """Take off quotes of any kind that stand around a text."""
    return text.strip("'\"“”„‘’ ")


def _guess_number(text: str) -> str:
    """Find the number in a text with a decimal comma, spaces, a currency or a unit.

    >>> _guess_number("12,50 €"), _guess_number("1,000"), _guess_number("cheap")
    ('12.50', '1000', '')
    """
    text = strip_quotes(text.replace("\N{MINUS SIGN}", "-"))
    text = re.sub(r"(?<=\d)[Oo]|[Oo](?=\d)", "0", text)
    text = re.sub(r"(?<=\d)[\s'_’](?=\d{3})", "", text)
    found = re.fullmatch(r"[^\d,.+-]{0,5}([+-]?[\d.,]*\d)\s*[^\d,.]{0,10}", text)
    if found is None:
        return ""
    number = found[1]
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", number):
        number = number.replace(",", "")
    elif re.fullmatch(r"[+-]?\d{1,3}(\.\d{3})+,\d+", number):
        number = number.replace(".", "").replace(",", ".")
    elif number.count(",") == 1 and "." not in number:
        number = number.replace(",", ".")
    return number if as_number(number) is not None else ""


def _guess_date(text: str) -> str:
    """Find the date in a text that has it in another order or form.

    >>> _guess_date("1.5.2024"), _guess_date("May 2024"), _guess_date("2024/5/1")
    ('2024-05-01', '2024-05', '2024-05-01')
    """
    if read_date(stripped := strip_quotes(text)):
        return stripped
    parts = re.findall(r"\d+|[a-z]+", text.lower())
    months = [p for p in parts if p[:3] in _MONTHS]
    numbers = [p for p in parts if p.isdecimal()]
    if re.fullmatch(r"\d{8}", text):
        numbers = [text[:4], text[4:6], text[6:]]
    if len(parts) > 3 or not any(len(p) == 4 for p in numbers):
        return ""
    if len(numbers[0]) != 4:
        numbers.reverse()  # the day first, as most of the world writes
    if months:
        numbers.insert(1, str(_MONTHS.index(months[0][:3]) + 1))
    date = "-".join([numbers[0], *(p.zfill(2) for p in numbers[1:])])
    return date if read_date(date) else ""


def _guess_truth(text: str) -> str:
    known = {"ja": "true", "on": "true", "off": "false", "nein": "false"}
    known |= {"y": "true", "t": "true", "n": "false", "f": "false"}
    stripped = strip_quotes(text.lower())
    near = suggestion(stripped, _TRUTHS).split("'")
    return known.get(stripped) or (near[1] if len(near) > 1 else "")
