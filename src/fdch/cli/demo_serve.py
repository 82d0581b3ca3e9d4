"""The demo's index as a service, and its page in a browser."""

import socket
import sys
import threading
import time
import urllib.request
import webbrowser
from pathlib import Path

import click

from fdch.cli import serve

HOST = "127.0.0.1"
STARTING_SECONDS = 60
_WAIT = 0.2


def serve_demo(index: Path, port: int) -> None:
    """Serve an index until Ctrl-C; on a terminal, open its page in a browser."""
    port = free_port(port)
    if sys.stdout.isatty():
        url = f"http://{HOST}:{port}/"
        threading.Thread(target=open_page, args=(url,), daemon=True).start()
    context = click.get_current_context()
    context.invoke(serve.command, index=str(index), port=port, quiet=True)


def free_port(wanted: int) -> int:
    """Give the port that is wanted, or any where another program has it."""
    for port in (wanted, 0):
        try:
            with socket.create_server((HOST, port)) as listener:
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
            time.sleep(_WAIT)
        else:
            webbrowser.open(url)
            return
