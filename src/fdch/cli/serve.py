"""`fdch serve`: an index in, a search service and its page out."""

from pathlib import Path

import click

from fdch.cli.shared.options import (
    PathName,
    device_option,
    encoder_option,
    example,
    index_argument,
)
from fdch.cli.shared.output import count, note, say
from fdch.cli.shared.values import Addresses

MEBIBYTE = 2**20


@click.command("serve", epilog=example("fdch serve scenes.index --port 8000"))
@index_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="0 takes any that is free.",
)
@click.option(
    "--token-file",
    type=PathName(),
    metavar="FILE",
    help="Lines 'read TOKEN' and 'write TOKEN'; needed to listen beyond this machine, "
    "and to write.",
)
@click.option(
    "--pictures",
    type=PathName(is_folder=True),
    metavar="FOLDER",
    help="Folder for uploaded pictures; by default inside the index folder.",
)
@click.option(
    "--rate",
    type=click.IntRange(1),
    metavar="N",
    help="Requests a minute from one token or address, and 50 times as many pictures. "
    "Default: unlimited on this machine, else 600.",
)
@click.option(
    "--most-upload",
    default=10,
    show_default=True,
    type=click.IntRange(1, 1024),
    help="Largest body of a request, in MiB.",
)
@click.option(
    "--most-pixels",
    default=50,
    show_default=True,
    type=click.IntRange(1, 178),
    help="Largest picture, in millions of pixels.",
)
@click.option(
    "--most-seconds",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="Longest time a request may take.",
)
@click.option(
    "--body-seconds",
    default=20.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="Longest time a body may take to arrive.",
)
@click.option(
    "--proxy",
    type=Addresses(),
    metavar="ADDRESS",
    help="Trust this proxy's word on clients' addresses.",
)
@encoder_option
@click.option("--log-queries", is_flag=True, help="Log queried texts and ids too.")
@click.option("--quiet", is_flag=True, help="Log errors only, not every request.")
@device_option
def command(
    index: str,
    host: str,
    port: int,
    token_file: Path | None,
    pictures: Path | None,
    rate: int | None,
    most_upload: int,
    most_pixels: int,
    most_seconds: float,
    body_seconds: float,
    proxy: str | None,
    encoder: str,
    log_queries: bool,
    quiet: bool,
    device: str,
) -> None:
    """Serve an index: an HTTP API, and a page at its root.

    INDEX is a folder or milvus://host:port/collection. Without a token file
    the service is for this machine alone, and nothing can be written.
    SIGTERM and Ctrl-C stop it once running requests have finished.
    """
    require_packages()
    from fdch.retrieval.encoders import open_encoder
    from fdch.retrieval.index import Index
    from fdch.service.http.limits import ServiceLimits
    from fdch.service.http.tokens import Tokens
    from fdch.service.service import Service
    from fdch.service.serving import LOOPBACK_NAMES, is_loopback, listen, make_server
    from fdch.training.context import Context

    is_local = is_loopback(host)
    tokens = None if token_file is None else Tokens.read(token_file)
    if tokens is None and not is_local:
        raise click.UsageError(
            f"listening on {host} lets others in: give a --token-file with lines "
            "'read TOKEN' and 'write TOKEN', or leave --host out."
        )
    if pictures is not None:
        _require_folder(pictures)
    limits = ServiceLimits(
        body_bytes=most_upload * MEBIBYTE,
        picture_pixels=most_pixels * 1_000_000,
        seconds=most_seconds,
        body_seconds=body_seconds,
        rate=rate or (None if is_local else 600),
    )
    start_log(quiet)
    with listen(host, port) as listener:
        opened = Index.open(
            index,
            writable=tokens is not None and tokens.can_write,
            context=Context(device=device),
        )
        service = Service(
            opened,
            limits=limits,
            tokens=tokens,
            pictures=pictures,
            log_queries=log_queries,
            encoder=open_encoder(opened, encoder),
        )
        name = host.strip("[]")
        shown = f"[{name}]" if ":" in name else host
        say(
            f"{count(len(opened), 'item')} at "
            f"http://{shown}:{listener.getsockname()[1]}/"
        )
        names = None if tokens is not None else LOOPBACK_NAMES | {shown.lower()}
        server = make_server(service, names=names, proxies=proxy)
        server.run(sockets=[listener])
    if service.trouble is not None:
        raise service.trouble
    note("stopped; everything acknowledged is on disk.")


def _require_folder(pictures: Path) -> None:
    """Refuse a folder that could keep no picture."""
    import os

    from fdch.errors import SettingError

    if not pictures.is_dir():
        raise SettingError(
            f"there is no folder '{pictures}' for uploaded pictures. Make it first, "
            "or give another with --pictures."
        )
    if not os.access(pictures, os.R_OK | os.W_OK | os.X_OK):
        raise SettingError(
            f"the folder '{pictures}' cannot be written to, so that no uploaded "
            "picture could be kept. Check its permissions."
        )


def start_log(quiet: bool) -> None:
    """Let the service's log lines through, without a level before each."""
    import logging

    logger = logging.getLogger("fdch.service")
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.handlers = [handler]
    logger.propagate = False


def require_packages() -> None:
    """Refuse to begin without the packages of the service."""
    from importlib.util import find_spec

    from fdch.errors import MissingExtra

    names = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
    if not all(map(find_spec, names)):
        raise MissingExtra("the service", "serve")
