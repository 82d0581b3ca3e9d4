"""The OpenAPI document: its examples work, and nothing it allows breaks anything."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
from PIL import Image
from tests.service.running import READ, TOKENS, WRITE, picture_bytes, running

import fdch.service
from fdch.service.index.contents import Examples
from fdch.service.reference.examples import add_examples


@pytest.fixture(scope="module")
def target(scenes, tmp_path_factory):
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


def operations(document):
    """Every route with a method, in the order in which /docs shows them."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_every_example_of_a_value_works(target, document):
    headers = {"authorization": f"Bearer {WRITE}"}
    tried = []
    for path, method, operation in operations(document):
        query = {}
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                path = path.replace("{id}", parameter["example"])
            elif "example" in parameter:
                query[parameter["name"]] = parameter["example"]
        body = operation.get("requestBody", {}).get("content", {})
        # a value cannot hold a picture, so such bodies have none; see the lines below
        assert list(examples(body.get("multipart/form-data", {}))) == []
        if list(body) == ["multipart/form-data"]:
            continue
        bodies = [{"json": each} for each in examples(body.get("application/json", {}))]
        assert bodies or not body
        for content in bodies or [{}]:
            sent = {"headers": headers, "params": query, **content}
            reply = httpx.request(method, target.url + path, **sent)
            assert reply.is_success, (method, path, content, reply.text)
            tried.append(method)
    assert len(tried) >= 18
    assert set(tried) == {"get", "post", "put", "delete"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_line_works_in_a_shell(target, document, tmp_path):
    known = {"SERVICE": target.url, "TOKEN": WRITE}
    forms = set()
    fetched = document["paths"]["/v1/items/{id}/picture"]["get"]
    for path, method, operation in [
        ("the picture that others need", "get", fetched),
        *operations(document),
    ]:
        lines = [each["source"] for each in operation["x-codeSamples"]]
        assert lines, (method, path)
        for line in lines:
            command = line.replace("curl ", "curl -sS --fail-with-body ", 1)
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=tmp_path,
                env=os.environ | known,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            if "image=@" in line:
                forms.add((method, path))
    assert forms == {
        ("post", "/v1/search/image"),
        ("post", "/v1/encode/image"),
        ("put", "/v1/items/{id}"),
    }
    with Image.open(tmp_path / "thumbnail.jpg") as thumbnail:
        assert thumbnail.format == "JPEG"


def test_lines_name_a_token_only_where_one_is_required(document, served):
    without = httpx.get(f"{served.url}/openapi.json").json()
    for described, has_token in ((document, True), (without, False)):
        for *_, operation in operations(described):
            for each in operation["x-codeSamples"]:
                assert ("$TOKEN" in each["source"]) == has_token


def test_lines_are_shown_on_the_page(served):
    page = httpx.get(f"{served.url}/docs").text
    for *_, operation in operations(httpx.get(f"{served.url}/openapi.json").json()):
        for each in operation["x-codeSamples"]:
            assert html.escape(each["source"]) in page


def test_what_an_index_lacks_is_in_no_example(document):
    picture = "/v1/items/{id}/picture"
    bare = json.loads(json.dumps(document))
    for *_, operation in operations(bare):
        operation.pop("x-codeSamples")
        for parameter in operation.get("parameters", ()):
            parameter.pop("example", None)
    filled = add_examples(bare, Examples(("a", "b"), "c", "d", has_picture=False))
    assert filled["paths"][picture] == bare["paths"][picture]
    odd = add_examples(bare, Examples(("a", "b"), " =", "d/e", has_picture=True))
    [line] = odd["paths"][picture]["get"]["x-codeSamples"]
    assert line["source"] == 'curl "$SERVICE/v1/items/d%2Fe/picture" -o picture.jpg'
    search = odd["paths"]["/v1/search"]["post"]["requestBody"]["content"]
    filtered = search["application/json"]["examples"]["filtered"]["value"]
    assert filtered["where"] == ['"label" = " ="']


def test_without_a_token_examples_show_nothing_of_the_index(target, document, scenes):
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
    before, searched = searcher.by_text, []

    def by_text(*words, **options):
        searched.append(words)
        return before(*words, **options)

    searcher.by_text = by_text
    try:
        served.service.current.examples._clock = lambda: 0.0
        served.service.current.examples.forget()
        served.service.current.examples._took = 0.0
        for _ in range(3):
            assert httpx.get(f"{served.url}/docs").status_code == 200
    finally:
        searcher.by_text = before
    assert len(searched) == 1


def test_the_page_shows_every_route_and_loads_nothing_from_elsewhere(target, document):
    page = httpx.get(f"{target.url}/docs").text
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in page
    assert re.findall(r"(?:src|href)=(\S+?)[ >]", page) == [
        "/static/docs.css",
        "/static/docs.js",
        "/openapi.json",
    ]
    assert page.count("<script") == 1
    assert "style=" not in page
    assert (
        httpx.get(f"{target.url}/static/docs.css")
        .headers["content-type"]
        .startswith("text/css")
    )


def test_every_route_returns_its_errors_in_one_shape(document):
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


def test_the_guide_lists_every_code_of_an_error():
    package = Path(fdch.service.__file__).parent
    given = re.compile(r"Problem\(\s*\d+,\s*\"(\w+)\"")
    codes = {
        code
        for file in package.rglob("*.py")
        for code in given.findall(file.read_text())
    }
    assert {"loading", "busy", "invalid"} <= codes
    guide = (Path(__file__).parents[2] / "docs/service.md").read_text("utf-8")
    table = guide[guide.index("| status | codes |") : guide.index("## Writing")]
    listed = set(re.findall(r"`(\w+)`", table))
    assert listed == codes | {"not_found", "wrong_method"}  # of the framework


@pytest.mark.integration
def test_routes_can_be_tried_on_the_page(browser, target, scenes):
    from tests.service.browsing import visit

    seen = visit(browser, target.url).open("/docs")
    page = seen.page
    page.get_by_label("Token").fill(WRITE)

    def attempt(name, **fields):
        section = page.locator("section", has=page.locator("h2", has_text=name)).first
        section.get_by_text("Try it").click()
        for label, value in fields.items():
            field = section.get_by_label(label, exact=True)
            is_file = isinstance(value, dict)
            (field.set_input_files if is_file else field.fill)(value)
        section.get_by_role("button", name="Send").click()
        reply = section.locator("output")
        reply.get_by_text(re.compile(r"\d ms")).wait_for()
        return reply

    picture = {"name": "a.png", "mimeType": "image/png", "buffer": picture_bytes()}
    item = "/v1/items/{id}"
    where = {"where, one a line": "label=beach"}
    reply = attempt("GET /v1/search", q="beach", k="2", **where)
    assert "q=beach&k=2&where=label%3Dbeach" in reply.inner_text()
    assert reply.inner_text().count('"distance"') == 2
    reply = attempt("POST /v1/search", JSON='{"text": "beach", "k": 3}')
    assert reply.inner_text().count('"distance"') == 3
    reply = attempt("POST /v1/search/image", Picture=picture, k="4")
    assert reply.inner_text().count('"distance"') == 4
    reply = attempt(f"PUT {item}", id="a/b", Picture=picture, JSON='{"labels": ["x"]}')
    assert "201" in reply.inner_text()
    reply = attempt(f"GET {item}/picture", id="a/b")
    expect_picture = "image => image.complete && image.naturalWidth > 0"
    assert reply.locator("img").evaluate(expect_picture)
    reply = attempt(f"DELETE {item}", id="a/b")
    assert "204" in reply.inner_text()
    reply = attempt("POST /v1/encode", JSON="{")
    assert '"invalid"' in reply.inner_text()
    assert seen.troubles == []
    assert seen.barriers() == []
    page.context.close()
