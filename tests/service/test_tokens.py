"""Tokens: read from a file under checks, told apart, never told."""

import pytest

from fdch.errors import SettingError
from fdch.service.http.tokens import Right, Tokens

READ, WRITE = "r" * 20, "w" * 20


def write(path, text, mode=0o600):
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


def test_each_token_has_its_right(tmp_path):
    text = f"# ours\n\nread {READ}  # a colleague\n  write\t{WRITE}\n"
    tokens = Tokens.read(write(tmp_path / "tokens", text))
    reader, writer = tokens.holder(READ), tokens.holder(WRITE)
    assert reader is not None
    assert writer is not None
    assert (reader.right, writer.right) == (Right.READ, Right.WRITE)
    assert reader.key != writer.key
    assert READ not in reader.key
    assert tokens.can_write
    for wrong in ("", READ[:-1], READ + "r", "\ud800", "x" * 10_000):
        assert tokens.holder(wrong) is None


def test_a_token_named_twice_has_the_greater_right(tmp_path):
    for text in (f"read {READ}\nwrite {READ}", f"write {READ}\nread {READ}"):
        holder = Tokens.read(write(tmp_path / "tokens", text)).holder(READ)
        assert holder is not None
        assert holder.right is Right.WRITE


def test_tokens_for_reading_alone_cannot_write(tmp_path):
    assert not Tokens.read(write(tmp_path / "tokens", f"read {READ}")).can_write


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no token"),
        ("# nothing\n", "has no token"),
        (f"admin {READ}", "line 1"),
        (f"read {READ}\nwrite", "line 2"),
        (f"read {READ} more", "line 1"),
        ("read short", "16 to 512"),
        ("read " + "x" * 513, "16 to 512"),
        ("read " + "ü" * 20, "16 to 512"),
    ],
)
def test_a_wrong_file_is_refused_without_telling_tokens(tmp_path, text, told):
    with pytest.raises(SettingError, match=told) as caught:
        Tokens.read(write(tmp_path / "tokens", text))
    for word in text.split():
        assert len(word) < 15 or word not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(SettingError, match="No such file"):
        Tokens.read(tmp_path / "nowhere")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\0")
    with pytest.raises(SettingError, match="decode"):
        Tokens.read(tmp_path / "bytes")


def test_a_file_that_anyone_can_change_is_refused(tmp_path):
    with pytest.raises(SettingError, match="chmod 600"):
        Tokens.read(write(tmp_path / "tokens", f"read {READ}", 0o666))
