"""A service listening on a socket, until it is told to stop."""

import contextlib
import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator
from types import FrameType

import uvicorn

from fdch.errors import SettingError
from fdch.service.app import create_app
from fdch.service.gate import Gate
from fdch.service.protocol import protocol
from fdch.service.service import Service

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
_BACKLOG = 1024


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a host's name.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """Open a socket to listen on.

    Raises:
        SettingError: The address cannot be had.
    """
    name = host.strip("[]")
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SettingError(
            f"cannot listen on {host}, port {port}: {reason}. Choose another with "
            "--host and --port."
        ) from problem
    return listener


class Server(uvicorn.Server):
    """Serves until told to stop; a stop by a signal is no failure."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the first signal as a wish to finish, a second as one to hurry."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        taken = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self._take_signal) for each in taken}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def stop(self) -> None:
        """Finish what runs, and end."""
        self.should_exit = True

    def _take_signal(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


def make_server(
    service: Service, *, any_host: bool = False, proxies: str | None = None
) -> Server:
    """Make a server of a service; run it with `run(sockets=[listen(...)])`.

    Args:
        service: Closed when the server stops.
        any_host: Answer to any name; else only to those of this machine.
        proxies: Addresses whose word on a client's address is believed.
    """
    limits = service.limits
    hosts = None if any_host else LOOPBACK_NAMES
    config = uvicorn.Config(
        Gate(create_app(service), service, hosts),
        http=protocol(limits.head_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.head_bytes,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=limits.stop_seconds,
    )
    server = Server(config)
    service.give_up = server.stop
    return server
