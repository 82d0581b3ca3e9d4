"""How to search: values are refused when they are set, and reach the ranking."""

import inspect
import pydoc
import re
from typing import Any, get_type_hints

import numpy as np
import pytest

from fdch import Client, Index, Searcher
from fdch.errors import SettingError
from fdch.index.store import Condition
from fdch.retrieval.params import (
    DEFAULT_K,
    SearchKeywords,
    SearchMethods,
    SearchParams,
)
from fdch.service.http.messages import SearchOptions, SearchRequest

NOWHERE: Any = None  # a store that must not be read
SEARCHES = ["by_text", "by_image", "by_id", "by_texts", "by_images", "by_ids"]
SEVERAL = [*SEARCHES, "query"]


def test_ten_results_or_all_within_a_radius_unless_k_is_given():
    assert SearchParams().k == SearchParams(k=None).k == DEFAULT_K == 10
    assert SearchParams(radius=2).k is None
    assert SearchParams(k=10, radius=2).k == 10


def test_conditions_are_read_or_taken_unchanged():
    ready = Condition("b", "in", ("1", "2"))
    assert SearchParams(where="a=1").conditions == (Condition("a", "=", ("1",)),)
    params = SearchParams(where=["a!=1", ready])
    assert params.conditions == (Condition("a", "!=", ("1",)), ready)
    assert params.to_json()["where"] == ["a != 1", "b in 1,2"]


def test_equal_params_are_equal_however_they_are_written():
    numbers: Any = np.int64(3), np.uint8(4), np.True_, np.float32(0.5)
    k, radius, rerank, least = numbers
    known = {"offset": k, "group": radius, "min_probability": least}
    one = SearchParams(k, where="a=1", radius=radius, rerank=rerank, **known)
    known = {"offset": 3, "group": 4, "min_probability": 0.5}
    where = [Condition("a", "=", ("1",))]
    other = SearchParams(3, where=where, radius=4, rerank=True, **known)
    assert one == other
    assert hash(one) == hash(other)
    assert one.to_json() == {
        "k": 3,
        "radius": 4,
        "where": ["a = 1"],
        "rerank": True,
        "min_probability": 0.5,
        "sort": None,
        "facets": False,
        "offset": 3,
        "group": 4,
        "match": "both",
    }


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"k": 0}, "k must be 1 or more; got 0. Leave it out for 10 results"),
        ({"k": "5"}, "k must be a whole number; got '5'"),
        ({"k": True}, "k must be a whole number; got True"),
        ({"radius": -2}, "radius must be 0 or more; got -2. Leave it out"),
        ({"radius": 2.5}, "radius must be a whole number; got 2.5"),
        ({"where": [""]}, "is not a condition"),
        ({"where": 5}, "where must be a condition such as 'price<=20'"),
        ({"where": {"scene": "beach"}}, "where must be a condition"),
        ({"match": "texts"}, "match must be both, codes or words; got 'texts'"),
        ({"rerank": "no"}, "rerank must be True or False; got 'no'"),
        ({"offset": -1}, "offset must be 0 or more; got -1"),
        ({"offset": 9_995}, "offset and k are 10,000 at most together; got 9995 and"),
        ({"group": -1}, "group must be 0 or more; got -1. Leave it out for no groups"),
        ({"min_probability": 1.5}, "min_probability must be from 0 to 1; got 1.5"),
        ({"min_probability": np.nan}, "min_probability must be from 0 to 1; got nan"),
        ({"min_probability": "0.5"}, "min_probability must be a number; got '0.5'"),
    ],
    ids=str,
)
def test_values_that_cannot_be_used_are_refused_when_set(options, complaint):
    with pytest.raises(SettingError, match=complaint):
        SearchParams(**options)


@pytest.mark.parametrize("search", ["by_texts", "by_images", "by_ids"])
def test_values_are_refused_before_a_model_is_loaded(search):
    searcher = Searcher(Index(NOWHERE))
    with pytest.raises(SettingError, match="k must be 1 or more; got 0"):
        getattr(searcher, search)(["beach"], k=0)


@pytest.mark.parametrize("search", SEVERAL)
@pytest.mark.parametrize("owner", [Searcher, Client])
def test_signatures_show_every_parameter_with_its_default(owner, search):
    shown = dict(inspect.signature(getattr(owner, search)).parameters)
    for name, field in SearchParams.__dataclass_fields__.items():
        assert shown[name].default == field.default, name
    assert shown["k"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert shown["where"].kind is inspect.Parameter.KEYWORD_ONLY


def test_help_shows_ten_results_and_the_keywords():
    shown = pydoc.plain(pydoc.render_doc(Searcher.by_text))
    assert re.search(r"k: int \| None = 10,\s+\*,\s+where: .* = None,", shown)


def test_type_checkers_see_the_keywords_of_the_params():
    fields = get_type_hints(SearchParams)
    del fields["k"], fields["_"]
    assert list(get_type_hints(SearchKeywords).items()) == list(fields.items())


class Recorder(SearchMethods[Any, Any]):
    def search(self, kind, queries, params):
        self.given = kind, list(queries), params
        return [None]


OPTIONS: dict[str, Any] = {"radius": 4, "where": "a=1", "min_probability": 0.5}
OPTIONS |= {"rerank": True, "offset": 6, "group": 2, "match": "codes"}


@pytest.mark.parametrize("search", SEARCHES)
def test_keyword_arguments_reach_the_search_unchanged(search):
    recorder, one, options = Recorder(), not search.endswith("s"), OPTIONS
    getattr(recorder, search)("x" if one else ["x"], 3, **options)
    kind = search.removeprefix("by_").removesuffix("s")
    assert recorder.given == (kind, ["x"], SearchParams(3, **options))


def test_a_query_of_one_part_is_the_search_by_that_part():
    recorder = Recorder()
    for kind, parts in (
        ("text", {"text": "x"}),
        ("image", {"image": "x"}),
        ("id", {"like": ["x"]}),
    ):
        recorder.query(**parts, k=3, **OPTIONS)
        assert recorder.given == (kind, ["x"], SearchParams(3, **OPTIONS))
    recorder.query("x", "y", ["a"], ["b"], ["c"], 3, **OPTIONS)
    kind, [given], params = recorder.given
    assert kind == "composed"
    assert (given.text, given.image, given.ids) == ("x", "y", ("a", "b"))
    assert params == SearchParams(3, **OPTIONS)


def test_a_request_has_the_same_defaults():
    assert SearchOptions.model_validate({}).params == SearchParams()


def test_a_request_has_a_field_for_every_parameter():
    options = {**OPTIONS, "where": ["a=1"], "k": 3, "sort": "-b", "facets": True}
    assert {*options} == {*vars(SearchParams())}
    assert SearchOptions.model_validate(options).params == SearchParams(**options)


def test_a_request_for_all_within_a_radius_gets_as_many_as_are_allowed():
    assert SearchOptions.model_validate({"radius": 4}).params.k == 1000
    texts = {"texts": ["a"] * 21}
    with pytest.raises(ValueError, match="21 texts with 1000 results each are more"):
        SearchRequest.model_validate({**texts, "radius": 4})
    assert SearchRequest.model_validate({**texts, "radius": 4, "k": 5}).params.k == 5


def test_an_unknown_argument_of_a_search_is_named_with_those_there_are():
    class Nothing(SearchMethods[str, str]):
        def search(self, kind, queries, params):
            raise AssertionError

    wrong: Any = {"top_k": 3}
    near: Any = {"minimum_probability": 0.5}
    with pytest.raises(SettingError, match=r"no argument 'top_k'\. It has k, where, "):
        Nothing().by_text("a boat", **wrong)
    with pytest.raises(SettingError, match="did you mean 'min_probability'"):
        Nothing().by_texts(["a boat"], **near)
