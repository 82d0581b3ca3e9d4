"""Tokens: read from a file under checks, distinguished, never disclosed."""

import os

import httpx
import pytest
from tests.service.running import running, wait_until

from fdch.errors import SettingError
from fdch.service import service
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
    ("text", "message"),
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
def test_a_wrong_file_is_refused_without_telling_tokens(tmp_path, text, message):
    with pytest.raises(SettingError, match=message) as caught:
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


def test_a_changed_file_is_read_again(tmp_path):
    path = write(tmp_path / "tokens", f"read {READ}")
    tokens = Tokens.read(path)
    assert not tokens.refresh()
    write(path, f"read {READ}2\nwrite {WRITE}")
    assert tokens.refresh()
    assert tokens.holder(READ) is None
    assert tokens.holder(f"{READ}2") is not None
    assert tokens.can_write
    assert not tokens.refresh()


@pytest.mark.parametrize("jump", [-3600, 365 * 24 * 3600])
def test_a_file_that_a_clock_dates_back_or_ahead_is_read_again(tmp_path, jump):
    path = write(tmp_path / "tokens", f"read {READ}1")
    tokens, written = Tokens.read(path), path.stat().st_mtime
    write(path, f"read {READ}2")
    os.utime(path, (written + jump, written + jump))
    assert tokens.refresh()
    assert tokens.holder(f"{READ}1") is None
    assert tokens.holder(f"{READ}2") is not None


def test_a_wrong_file_leaves_the_tokens_as_they_are(tmp_path):
    path = write(tmp_path / "tokens", f"read {READ}")
    tokens = Tokens.read(path)
    path.write_text("nonsense")
    with pytest.raises(SettingError, match="line 1"):
        tokens.refresh()
    assert not tokens.refresh()  # it is reported once
    path.unlink()
    with pytest.raises(SettingError, match="No such file"):
        tokens.refresh()
    assert tokens.holder(READ) is not None


def test_a_service_takes_over_tokens_without_a_restart(
    scenes, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(service, "WATCH_SECONDS", 0.05)
    path = write(tmp_path / "tokens", f"read {READ}")

    def status(it, token, method="GET"):
        headers = {"authorization": f"Bearer {token}"}
        return httpx.request(method, f"{it.url}/v1/items/x", headers=headers)

    with running(scenes.index, tokens=Tokens.read(path)) as it:
        assert status(it, READ).status_code == 404
        write(path, f"read {READ}2\nwrite {WRITE}")
        wait_until(lambda: status(it, READ).status_code == 401)
        assert status(it, f"{READ}2").status_code == 404
        refused = status(it, WRITE, "DELETE")  # the index is open for reading
        assert refused.status_code == 403
        assert "started without a write token" in refused.text
        path.write_text("nonsense")
        wait_until(lambda: "the tokens are unchanged" in caplog.text)
        assert status(it, WRITE).status_code == 404
