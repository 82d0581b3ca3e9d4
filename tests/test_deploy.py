"""Files of deploy/ can be parsed, and the commands in them are fdch's."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path

import click
import pytest

from fdch.cli import cli
from fdch.service.http.limits import ServiceLimits

yaml = pytest.importorskip("yaml")
DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
COMPOSE = ("compose.yaml", "compose.milvus.yaml")


def parsed(words):
    """What a command line of fdch's stands for; a wrong one raises."""
    context = click.Context(cli)
    command = cli.get_command(context, words[0])
    assert command is not None, words
    return command.make_context(words[0], list(words[1:])).params


def compose(name):
    return yaml.safe_load((DEPLOY / name).read_text())


def unit():
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read_string((DEPLOY / "fdch.service").read_text())
    return parser


def instructions(name):
    """Instructions of a Dockerfile with their text, lines joined."""
    text = (DEPLOY / name).read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        yield word, rest.strip()


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_run_a_service_with_tokens_on_loopback(name):
    service = compose(name)["services"]["fdch"]
    options = parsed(service["command"])
    assert options["host"] == "0.0.0.0"
    assert str(options["token_file"]) == "/run/secrets/tokens"
    assert service["ports"] == [f"127.0.0.1:8000:{options['port']}"]
    assert service["secrets"] == ["tokens"]
    assert service["read_only"] is True
    [network] = compose(name)["networks"]["default"]["ipam"]["config"]
    assert options["proxy"] == network["gateway"]
    assert ip_address(network["gateway"]) in ip_network(network["subnet"])


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_name_what_they_use(name):
    document = compose(name)
    for service in document["services"].values():
        assert set(service.get("depends_on", ())) <= set(document["services"])
        assert set(service.get("secrets", ())) <= set(document["secrets"])
        named = {each.split(":")[0] for each in service["volumes"]}
        named = {each for each in named if re.fullmatch(r"[a-z]+", each)}
        assert named <= set(document["volumes"])


def test_the_service_finds_milvus_by_its_name():
    services = compose("compose.milvus.yaml")["services"]
    addresses = parsed(services["fdch"]["command"])["indexes"]
    assert addresses == ("milvus://milvus:19530/catalogue",)
    assert "milvus" in services["fdch"]["depends_on"]


def test_the_image_runs_a_command_of_fdch():
    found = dict(instructions("Dockerfile"))
    assert json.loads(found["ENTRYPOINT"]) == ["fdch"]
    options = parsed(json.loads(found["CMD"]))
    assert found["EXPOSE"] == str(options["port"])
    assert found["USER"] == "fdch"
    assert json.loads(found["CMD"])[0] == "serve"
    check = found["HEALTHCHECK"].partition("CMD ")[2]
    assert f":{options['port']}/ready" in json.loads(check)[2]


def test_the_image_copies_what_there_is():
    for word, rest in instructions("Dockerfile"):
        if word == "COPY" and not rest.startswith("--from"):
            for name in rest.split()[:-1]:
                assert (DEPLOY.parent / name).exists(), name


def test_the_unit_runs_a_command_of_fdch_as_nobody():
    found = unit()
    program, *words = shlex.split(found["Service"]["ExecStart"])
    assert Path(program).name == "fdch"
    options = parsed(words)
    assert options["host"] == "127.0.0.1"
    assert str(options["token_file"]).startswith("%d/")
    assert found["Service"]["LoadCredential"].startswith("tokens:")
    assert found["Service"]["DynamicUser"] == "yes"
    assert "MemoryDenyWriteExecute" not in found["Service"]
    assert int(found["Service"]["LimitNOFILE"]) > 2 * ServiceLimits().connections
    assert found["Install"]["WantedBy"] == "multi-user.target"


def test_nginx_connects_where_the_unit_listens():
    text = re.sub(r"#.*", "", (DEPLOY / "nginx.conf").read_text())
    assert text.count("{") == text.count("}")
    statements = re.findall(r"[^{};]+[;{]", re.sub(r"\s+", " ", text))
    assert all(each.strip(" ;{") for each in statements)
    port = parsed(shlex.split(unit()["Service"]["ExecStart"])[1:])["port"]
    assert f"server 127.0.0.1:{port};" in text
    assert "listen 443 ssl http2;" in text


def test_unit_and_image_encode_texts_with_static_embeddings():
    """`fdch train` uses them where they are installed; queries then need them too."""
    requirements = (DEPLOY.parent / "requirements" / "service.txt").read_text()
    assert "\nwordllama==" in requirements and "\ntokenizers==" in requirements
    assert ".[train,static," in (DEPLOY / "fdch.service").read_text()


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate with")
    key, chain = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=search.example.org"]
    command = ["openssl", "req", *made, "-keyout", key, "-out", chain]
    subprocess.run(command, check=True, capture_output=True)
    return tmp_path


def test_nginx_takes_the_site(certificate):
    """As it is but for the certificate, and sockets that need no right to open."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no nginx here")
    sites = (DEPLOY / "nginx.conf").read_text()
    sites = sites.replace("/etc/letsencrypt/live/search.example.org", str(certificate))
    ports = iter(range(100))
    sites = re.sub(
        r"listen \S*?\d+( |;)",
        lambda found: f"listen unix:{certificate}/{next(ports)}{found[1]}",
        sites,
    )
    assert next(ports) == 4
    whole = certificate / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {certificate}/{kind}; " for kind in kinds)
    whole.write_text(
        f"pid {certificate}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {places}\n{sites}\n}}\n"
    )
    command = [program, "-t", "-p", certificate, "-c", whole, "-e", "stderr"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def programs(folder, **found):
    """Make a folder of programs that do no more than end with a code."""
    folder.mkdir()
    for name in ("bash", "dirname", "id"):
        (folder / name).symlink_to(shutil.which(name) or "")
    for name, code in found.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\nexit {code}\n")
        path.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("found", "is_ci", "code"),
    [
        ({"chromium": 0}, True, 0),
        ({"apt_get": 0, "sudo": 0}, True, 0),
        ({"apt_get": 1, "sudo": 1}, True, 1),
        ({}, True, 1),
        ({}, False, 0),
        ({"chromium": 0, "make": 3}, True, 3),
    ],
)
def test_ci_skips_nothing_of_the_page(tmp_path, found, is_ci, code):
    folder = programs(tmp_path / "programs", **{"make": 0, **found})
    path = DEPLOY.parent / ".ci" / "run"
    if not path.exists():
        pytest.skip("this copy has no .ci")
    environment = {"PATH": str(folder), **({"CI": "true"} if is_ci else {})}
    ended = subprocess.run([folder / "bash", path], env=environment)
    assert ended.returncode == code


def test_time_and_size_limits_are_in_order():
    """What nginx allows is a little more, so that the service can explain."""
    text = (DEPLOY / "nginx.conf").read_text()
    defaults = parsed(["serve", "x"])
    [size] = re.findall(r"client_max_body_size (\d+)m;", text)
    [wait] = re.findall(r"proxy_read_timeout +(\d+)s;", text)
    assert int(size) > defaults["max_upload"]
    assert int(wait) > defaults["max_seconds"]
