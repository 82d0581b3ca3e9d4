"""`fdch serve`: an index in, a search service and its page out."""

import logging
import os
import re
import socket
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath

import click

from fdch.cli.shared import options
from fdch.cli.shared.output import count, note, say
from fdch.errors import MissingExtra, SettingError

MEBIBYTE = 2**20
STARTING_SECONDS = 60
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@options.command("serve", "fdch serve scenes.index --port 8000")
@click.argument(
    "indexes", type=options.DATA, nargs=-1, required=True, metavar="INDEX..."
)
@click.option("--host", default="127.0.0.1", help="Where to listen.")
@click.option(
    "--port",
    default=8000,
    type=options.WholeRange(0, 65535),
    help="0 takes any that is free.",
)
@options.path(
    "--token-file",
    metavar="FILE",
    help="Lines 'read TOKEN' and 'write TOKEN'; needed to listen beyond this machine, "
    "and to write.",
)
@click.option(
    "--pictures",
    type=options.PathName(file_okay=False),
    metavar="FOLDER",
    help="Folder for uploaded pictures; by default inside the index folder.",
)
@click.option(
    "--upload-quota",
    type=options.parse_bytes,
    metavar="SIZE",
    help="What all uploaded pictures may take, such as 10GB; by default the disk.",
)
@click.option(
    "--rate",
    type=options.WholeRange(1),
    metavar="N",
    help="Requests a minute from one token or address, and 50 times as many pictures. "
    "Default: unlimited on this machine, else 600.",
)
@click.option(
    "--most-upload",
    default=10,
    type=options.WholeRange(1, 1024),
    help="Largest body of a request, in MiB.",
)
@click.option(
    "--most-pixels",
    default=50,
    type=options.WholeRange(1, 178),
    help="Largest picture, in millions of pixels.",
)
@click.option(
    "--most-seconds",
    default=30.0,
    type=options.FiniteRange(0.1, 3600),
    help="Longest time a request may take.",
)
@click.option(
    "--body-seconds",
    default=20.0,
    type=options.FiniteRange(0.1, 3600),
    help="Longest time a body may take to arrive.",
)
@click.option(
    "--most-connections",
    default=128,
    type=options.WholeRange(1, 1024),
    help="Connections and waiting requests of one address.",
)
@click.option(
    "--proxy",
    type=options.check_addresses,
    metavar="ADDRESS",
    help="Trust the client addresses that this proxy reports.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this site call the service, such as https://shop.example.",
)
@options.encoder
@click.option(
    "--log-format",
    default="text",
    type=click.Choice(["text", "json"]),
    help="Log lines for people, or JSON with request ids.",
)
@click.option("--log-queries", is_flag=True, help="Log queried texts and ids too.")
@click.option("--quiet", is_flag=True, help="Log errors only, not every request.")
@options.device
def command(
    indexes: tuple[str, ...],
    host: str,
    port: int,
    token_file: Path | None,
    pictures: Path | None,
    upload_quota: int | None,
    rate: int | None,
    most_upload: int,
    most_pixels: int,
    most_seconds: float,
    body_seconds: float,
    most_connections: int,
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
        body_bytes=most_upload * MEBIBYTE,
        picture_pixels=most_pixels * 1_000_000,
        seconds=most_seconds,
        body_seconds=body_seconds,
        address_connections=most_connections,
        upload_quota=upload_quota,
        rate=rate or (None if is_local else 600),
    )
    _start_log(quiet, log_format)
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
    note("stopped; everything acknowledged is on disk.")


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


def _start_log(quiet: bool, log_format: str) -> None:
    """Let the service's log lines through, without a level before each."""
    from fdch.service.http.log_lines import JsonLines

    plain = logging.Formatter("%(asctime)s %(message)s")
    logger = logging.getLogger("fdch.service")
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else plain)
    logger.handlers = [handler]
    logger.propagate = False


def require_packages() -> None:
    """Refuse to begin without the packages of the service."""
    from importlib.util import find_spec

    names = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
    if not all(map(find_spec, names)):
        raise MissingExtra("the service", "serve")


def serve_demo(index: Path, port: int) -> None:
    """Serve an index until Ctrl-C; on a terminal, open its page in a browser."""
    port = free_port(port)
    if sys.stdout.isatty():
        url = f"http://127.0.0.1:{port}/"
        threading.Thread(target=open_page, args=(url,), daemon=True).start()
    context = click.get_current_context()
    context.invoke(command, indexes=(str(index),), port=port, quiet=True)


def free_port(wanted: int) -> int:
    """Return the port that is wanted, or any where another program has it."""
    for port in (wanted, 0):
        try:
            with socket.create_server(("127.0.0.1", port)) as listener:
                return int(listener.getsockname()[1])
        except (OSError, OverflowError):
            continue
    return 0


def open_page(url: str) -> None:
    """Wait until a service answers, then show it."""
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{url}ready", timeout=STARTING_SECONDS).close()
        except OSError:
            time.sleep(0.2)
        else:
            webbrowser.open(url)
            return
