"""JSON bodies: all that is allowed is read, what lists too much is refused."""

import json

import pytest

from fdch.service.http import uploads
from fdch.service.http.limits import (
    MAX_CHARACTERS,
    MAX_COLUMNS,
    MAX_LABELS,
    MAX_TEXTS,
)
from fdch.service.http.messages import ItemRequest, SearchRequest
from fdch.service.http.problems import Problem
from fdch.service.http.uploads import parse_json

ODD = '\\"[{,\\\\"' + "é漢🎈"


@pytest.mark.parametrize("ascii", [True, False])
def test_the_longest_search_is_read(ascii):
    text = (ODD * MAX_CHARACTERS)[:MAX_CHARACTERS]
    request = {"texts": [text] * MAX_TEXTS, "where": [f'x={ODD}"'] * 16}
    content = json.dumps(request, ensure_ascii=ascii)
    assert parse_json(SearchRequest, content).inputs == request["texts"]
    assert parse_json(SearchRequest, content.encode()).inputs == request["texts"]


def test_the_longest_item_is_read():
    item = {
        "text": ODD * 9000,
        "labels": [f"{ODD}{number}" for number in range(MAX_LABELS)],
        "columns": {f"{ODD}{number}": ODD * 50 for number in range(MAX_COLUMNS)},
    }
    found = parse_json(ItemRequest, json.dumps(item))
    assert found.model_dump() == item


@pytest.mark.parametrize(
    "content",
    [
        b"{" + b'"a":1,' * 6000 + b'"b":1}',
        b'{"texts":[' + b"[],[]," * 6000 + b"1]}",
        b'{"texts":[' + b'"\\"",' * 6000 + b'""]}',
        b'{"texts":[' + b"{},\n" * 6000 + b"{}]}",
        b'"' * 30_000,
    ],
)
def test_what_lists_too_much_is_refused_unread(content, monkeypatch):
    monkeypatch.setattr(SearchRequest, "model_validate_json", None)
    with pytest.raises(Problem, match="more than 5,000 things") as caught:
        parse_json(SearchRequest, content)
    assert (caught.value.status, caught.value.code) == (422, "invalid")


@pytest.mark.parametrize("content", [b'"' + b'\\"' * 9000, b"\\" * 30_000, b'"' * 9])
def test_strings_without_an_end_are_gone_over_once(content):
    assert not uploads._lists_much(content)
