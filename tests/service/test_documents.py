"""The OpenAPI document: its examples work, and nothing it allows breaks anything."""

import html
import json
import re

import httpx
import pytest
from tests.service.running import READ, TOKENS, WRITE, picture_bytes, running


@pytest.fixture(scope="module")
def target(scenes, tmp_path_factory):
    import shutil

    index = tmp_path_factory.mktemp("documents") / "index"
    shutil.copytree(scenes.index, index)
    with running(index, tokens=TOKENS) as it:
        yield it


@pytest.fixture(scope="module")
def document(target):
    headers = {"authorization": f"Bearer {READ}"}
    return httpx.get(f"{target.url}/openapi.json", headers=headers).json()


def all_examples(document):
    """Give the examples of bodies and parameters, each as text."""
    return [
        json.dumps(example)
        for operations in document["paths"].values()
        for operation in operations.values()
        for content in (
            *operation.get("requestBody", {}).get("content", {}).values(),
            *operation.get("parameters", ()),
        )
        for example in examples(content)
    ]


def examples(content):
    yield from (each["value"] for each in content.get("examples", {}).values())
    if "example" in content:
        yield content["example"]


def test_every_example_works(target, document):
    headers = {"authorization": f"Bearer {WRITE}"}
    tried = 0
    for path, operations in document["paths"].items():
        for method, operation in sorted(operations.items(), reverse=True):
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    path = path.replace("{id}", parameter["example"])
            body = operation.get("requestBody", {}).get("content", {})
            asked = []
            for example in examples(body.get("application/json", {})):
                asked.append({"json": example})
            if "multipart/form-data" in body:
                files = {"image": picture_bytes()}
                fields = list(examples(body["multipart/form-data"])) or [{}]
                asked += [{"data": each, "files": files} for each in fields]
            for content in asked or [{}]:
                reply = httpx.request(
                    method, target.url + path, headers=headers, **content
                )
                assert reply.is_success, (method, path, content, reply.text)
                tried += 1
            path = re.sub("/items/[^/]+", "/items/{id}", path)
    assert tried >= 20


def test_without_a_token_examples_tell_nothing_of_the_index(target, document, scenes):
    general = httpx.get(f"{target.url}/openapi.json").json()
    assert general["paths"].keys() == document["paths"].keys()
    shown = all_examples(general)
    assert len(shown) == len(all_examples(document))
    known = {*map(str, scenes.pairs.ids), *scenes.pairs.label_names} - {"dog", "beach"}
    own = [each for each in all_examples(document) if any(map(each.count, known))]
    assert own
    for each in shown:
        assert not any(f'"{name}"' in each or f"={name}" in each for name in known)
    page = httpx.get(f"{target.url}/docs").text
    assert not any(f">{name}<" in page for name in known)
    assert not any(html.escape(f'"{name}"') in page for name in known)


def test_examples_are_looked_for_once(served):
    searcher = served.service.searcher
    before, asked = searcher.by_text, []

    def by_text(*words, **options):
        asked.append(words)
        return before(*words, **options)

    searcher.by_text = by_text
    try:
        served.service._examples._clock = lambda: 0.0
        served.service._examples.forget()
        served.service._examples._took = 0.0
        for _ in range(3):
            assert httpx.get(f"{served.url}/docs").status_code == 200
    finally:
        searcher.by_text = before
    assert len(asked) == 1


def test_the_page_shows_every_route_and_loads_nothing_from_elsewhere(target, document):
    page = httpx.get(f"{target.url}/docs").text
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in page
    assert re.findall(r"(?:src|href)=(\S+?)[ >]", page) == [
        "/docs.css",
        "/openapi.json",
    ]
    assert "<script" not in page
    assert "style=" not in page
    assert (
        httpx.get(f"{target.url}/docs.css")
        .headers["content-type"]
        .startswith("text/css")
    )


def test_every_route_tells_its_errors_in_one_shape(document):
    shape = {"$ref": "#/components/schemas/ErrorReply"}
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, reply in operation["responses"].items():
                if status.startswith(("4", "5")):
                    assert reply["content"]["application/json"]["schema"] == shape


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("token", [READ, WRITE])
def test_nothing_the_document_allows_breaks_the_service(target, document, token):
    """Requests that schemathesis makes up, right and wrong ones."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error

    schema = schemathesis.openapi.from_dict(document)
    quick = settings(
        max_examples=40,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    tried = set()
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]

        @quick
        @given(case=operation.as_strategy())
        def check(case):
            case.call_and_validate(
                base_url=target.url,
                headers={"authorization": f"Bearer {token}"},
                checks=[not_a_server_error],
            )

        check()
        tried.add(operation.path)
    assert tried == set(document["paths"])
