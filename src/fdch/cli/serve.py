"""`fdch serve`: an index in, a search service and its page out."""

import ipaddress
import logging
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath

import click

from fdch.cli.shared import options
from fdch.cli.shared.options import (
    COUNT,
    PATH,
    PORT,
    FiniteRange,
    PathName,
    WholeRange,
    option,
)
from fdch.cli.shared.output import count, say
from fdch.errors import MissingExtra, SettingError

MEBIBYTE = 2**20
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def check_addresses(text: str) -> str:
    """Refuse anything but IP addresses and networks."""
    for part in text.split(","):
        try:
            ipaddress.ip_network(part.strip())
        except ValueError as problem:
            raise click.BadParameter(
                f"'{part}' is no IP address; give one such as 127.0.0.1, or a network "
                "such as 10.0.0.0/8."
            ) from problem
    return text


def parse_bytes(text: str) -> int:
    """Read how many bytes are meant.

    >>> parse_bytes("10GB"), parse_bytes("1.5 MiB")
    (10000000000, 1572864)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.I)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"'{text}' is not a size; give one such as 10GB.")
    power = "KMGT".find(found[2].upper()) + 1 if found[2] else 0
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


@options.command("serve", "fdch serve scenes.index --port 8000")
@click.argument(
    "indexes", type=options.DATA, nargs=-1, required=True, metavar="INDEX..."
)
@option("--host", "Where to listen.", default="127.0.0.1")
@option("--port", "0 takes any that is free.", PORT, default=8000)
@option(
    "--token-file FILE",
    "Lines 'read TOKEN' and 'write TOKEN'; needed to listen beyond this machine, and "
    "to write.",
    PATH,
)
@option(
    "--pictures FOLDER",
    "Folder for uploaded pictures; by default inside the index folder.",
    PathName(file_okay=False),
)
@option(
    "--upload-quota SIZE",
    "What all uploaded pictures may take, such as 10GB; by default the disk.",
    parse_bytes,
)
@option(
    "--rate N",
    "Requests a minute from one token or address, and 50 times as many pictures. "
    "Default: unlimited on this machine, else 600.",
    COUNT,
)
@option(
    "--max-upload",
    "Largest body of a request, in MiB.",
    WholeRange(1, 1024),
    default=10,
)
@option(
    "--max-pixels",
    "Largest picture, in millions of pixels.",
    WholeRange(1, 178),
    default=50,
)
@option(
    "--max-seconds",
    "Longest time a request may take.",
    FiniteRange(0.1, 3600),
    default=30.0,
)
@option(
    "--body-seconds",
    "Longest time a body may take to arrive.",
    FiniteRange(0.1, 3600),
    default=20.0,
)
@option(
    "--max-connections",
    "Connections and waiting requests of one address.",
    WholeRange(1, 1024),
    default=128,
)
@option(
    "--proxy ADDRESS",
    "Trust the client addresses that this proxy reports.",
    check_addresses,
)
@option(
    "--allow-origin ORIGIN...",
    "Let pages of this site call the service, such as https://shop.example.",
    name="origins",
)
@options.encoder
@option(
    "--log-format",
    "Log lines for people, or JSON with request ids.",
    ["text", "json"],
    default="text",
)
@option("--log-queries", "Log queried texts and ids too.", bool)
@option("--quiet", "Log errors and warnings only, not every request.", bool)
@options.device
def command(
    indexes: tuple[str, ...],
    host: str,
    port: int,
    token_file: Path | None,
    pictures: Path | None,
    upload_quota: int | None,
    rate: int | None,
    max_upload: int,
    max_pixels: int,
    max_seconds: float,
    body_seconds: float,
    max_connections: int,
    proxy: str | None,
    origins: tuple[str, ...],
    encoder: str,
    log_format: str,
    log_queries: bool,
    quiet: bool,
    device: str,
) -> None:
    """Serve an index: an HTTP API, and a page at its root.

    INDEX is a folder or milvus://host:port/collection. Of several, each has the
    name of its folder, or the one that is given as NAME=INDEX; the first is the
    one that clients get without a name. Without a token file the service is for
    this machine alone, and nothing can be written. SIGTERM and Ctrl-C stop it
    once running requests have finished.
    """
    require_packages()
    from fdch.retrieval.encoders import open_encoder
    from fdch.retrieval.index import Index
    from fdch.service.http.limits import ServiceLimits
    from fdch.service.http.tokens import Tokens
    from fdch.service.metrics import Metrics
    from fdch.service.service import Service
    from fdch.service.serving import LOOPBACK_NAMES, is_loopback, listen, make_server
    from fdch.training.context import Context

    named = name_indexes(indexes)
    is_local = is_loopback(host)
    tokens = None if token_file is None else Tokens.read(token_file)
    if tokens is None and not is_local:
        raise click.UsageError(
            f"listening on {host} lets other machines connect: give a --token-file "
            "with lines 'read TOKEN' and 'write TOKEN', or leave --host out."
        )
    if pictures is not None:
        _require_folder(pictures)
    limits = ServiceLimits(
        body_bytes=max_upload * MEBIBYTE,
        picture_pixels=max_pixels * 1_000_000,
        seconds=max_seconds,
        body_seconds=body_seconds,
        address_connections=max_connections,
        upload_quota=upload_quota,
        rate=rate or (None if is_local else 600),
    )
    log = _start_log(quiet, log_format)
    can_write = tokens is not None and tokens.can_write
    with listen(host, port) as listener:
        context, metrics = Context(device=device), Metrics()
        services = [
            Service(
                Index.open(index, writable=can_write, context=context),
                limits=limits,
                tokens=tokens,
                pictures=pictures / name if pictures and len(named) > 1 else pictures,
                log_queries=log_queries,
                open_encoder=partial(open_encoder, name=encoder),
                name=name,
                metrics=metrics,
            )
            for name, index in named.items()
        ]
        name = host.strip("[]")
        shown = f"[{name}]" if ":" in name else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        held = [f"{each.name}: {count(len(each.index), 'item')}" for each in services]
        items = count(len(services[0].index), "item")
        names = None if tokens is not None else LOOPBACK_NAMES | {shown.lower()}
        server = make_server(*services, names=names, proxies=proxy, origins=origins)
        say(f"{items if len(services) == 1 else ', '.join(held)} at {url}")
        server.run(sockets=[listener])
    for each in services:
        if each.trouble is not None:
            raise each.trouble
    log.info("stopped; everything acknowledged is on disk.")


def name_indexes(given: Sequence[str]) -> dict[str, str]:
    """Return the indexes by name: that of the folder, or the one before a '='.

    >>> name_indexes(["data/shop.index", "old=archive.index"])
    {'shop': 'data/shop.index', 'old': 'archive.index'}
    """
    named: dict[str, str] = {}
    for each in given:
        name, mark, index = each.partition("=")
        if not mark or not _NAME.fullmatch(name) or os.path.exists(each):
            index = each
            stem = PurePath(each.rstrip("/")).name.removesuffix(".index")
            name = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:64] or "index"
        if name in named or name in (".", ".."):
            raise SettingError(
                f"'{each}' cannot have the name '{name}': another index has it, or no "
                f"address can hold it. Give it a name of its own: 'NAME={index}'."
            )
        named[name] = index
    return named


def _require_folder(pictures: Path) -> None:
    """Refuse a folder that could keep no picture."""
    if not pictures.is_dir():
        problem = f"there is no folder '{pictures}'. Make it first"
    elif not os.access(pictures, os.R_OK | os.W_OK | os.X_OK):
        problem = f"the folder '{pictures}' cannot be written to. Check its permissions"
    else:
        return
    raise SettingError(f"{problem}, or give another with --pictures.")


def _start_log(quiet: bool, log_format: str) -> logging.Logger:
    """Write the service's lines and the warnings of others in one form."""
    from fdch.service.http.log_lines import JsonLines

    plain = logging.Formatter("%(asctime)s %(message)s")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else plain)
    logging.root.handlers = [handler]
    logger = logging.getLogger("fdch.service")
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    return logger


def require_packages() -> None:
    """Refuse to begin without the packages of the service."""
    from importlib.util import find_spec

    names = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
    if not all(map(find_spec, names)):
        raise MissingExtra("the service", "serve")
