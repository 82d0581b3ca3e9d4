"""The OpenAPI document: its examples work, and nothing it allows breaks anything."""

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
    return httpx.get(f"{target.url}/openapi.json").json()


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
