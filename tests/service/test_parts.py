"""Multipart bodies: taken apart as they were put together, refused when malformed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdch.service.http.uploads import MAX_PARTS, Part, read_parts

KIND = "multipart/form-data; boundary=XYZ"
NAMES = st.text("abcdefgh_", min_size=1, max_size=10)


def written(parts):
    body = b""
    for part in parts:
        file = b'; filename="../../etc/passwd"' if part.is_file else b""
        name = part.name.encode()
        head = b'Content-Disposition: form-data; name="' + name + b'"' + file
        body += b"--XYZ\r\n" + head + b"\r\n\r\n" + part.content + b"\r\n"
    return body + b"--XYZ--\r\n"


@given(st.lists(st.builds(Part, NAMES, st.binary(max_size=200), st.booleans())))
def test_what_was_put_together_comes_apart(parts):
    parts = [part for part in parts if b"--XYZ" not in part.content][:MAX_PARTS]
    if parts:
        assert read_parts(written(parts), KIND) == parts


@given(st.binary(max_size=300), st.binary(max_size=20))
def test_anything_else_is_refused_with_a_reason(before, after):
    whole = written([Part("a", b"content", True)])
    for body in (before, before + whole, whole[:40] + before + whole[40:] + after):
        try:
            read_parts(body, KIND)
        except ValueError as problem:
            assert not isinstance(problem, UnicodeError)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"", KIND, "ends too early"),
        (written([Part("a", b"x", True)])[:-8], KIND, "ends too early"),
        (b"x", "multipart/form-data", "no boundary"),
        (b"x", "multipart/form-data; boundary=" + "x" * 300, "no boundary"),
        (b"--XYZ\r\n\r\nx\r\n--XYZ--\r\n", KIND, "no name"),
        (written([Part("", b"", False)]), KIND, "no name"),
        (written([Part("a", b"", False)] * (MAX_PARTS + 1)), KIND, "more than 64"),
        (b"\r\n--XYZx" * 1_000_000, KIND, "more than 64"),
        (written([Part("a", b"x" * (2**20 + 1), False)]), KIND, "too long"),
        (
            b'--XYZ\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n'
            b"\r\n--XYZ--\r\n",
            KIND,
            "not UTF-8",
        ),
    ],
)
def test_what_is_wrong_is_reported(body, kind, message):
    with pytest.raises(ValueError, match=message):
        read_parts(body, kind)
