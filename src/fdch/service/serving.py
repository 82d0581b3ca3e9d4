"""A service listening on a socket, until it is stopped."""

import asyncio
import contextlib
import ipaddress
import math
import signal
import socket
from collections.abc import Callable, Coroutine, Iterable
from types import FrameType
from typing import Any

import uvicorn

try:
    import resource
except ImportError:  # where the system has no such limits
    resource = None  # type: ignore[assignment]

from fdch.errors import SettingError
from fdch.service.app import Site
from fdch.service.gate import Gate
from fdch.service.http.protocol import make_protocol
from fdch.service.service import Service

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
_BACKLOG = 1024
# connections that are accepted before any of them is looked at
_ACCEPTED_AT_ONCE = 32
# files that are not clients' connections: the index, pictures, what is refused
_OTHER_FILES = 256
_MAX_FILES = 65_536


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host's name.

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
    """Open a socket to listen on, or raise SettingError."""
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as problem:
        reason = str(getattr(problem, "strerror", None) or problem)
        reason, _, _ = reason.partition(" (while ")  # then the address again
        raise SettingError(
            f"cannot listen on {host}, port {port}: {reason}. Choose another with "
            "--host and --port."
        ) from problem


def limit_connections(wanted: int) -> int:
    """Raise the limit of open files; return how many connections then fit.

    >>> limit_connections(10)
    10
    """
    if resource is None:
        return wanted
    soft, hard = (
        math.inf if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    most = min(hard, _MAX_FILES)
    if soft < most:
        limits = (int(most), resource.RLIM_INFINITY if hard == math.inf else int(hard))
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            soft = most
    return int(min(wanted, max(soft - _OTHER_FILES, soft / 4)))


def _parse_proxies(proxies: str | None) -> Callable[[str], bool]:
    """Return a function that checks whether an address is a proxy's."""
    named = [] if proxies is None else proxies.split(",")
    networks = [ipaddress.ip_network(each.strip()) for each in named]

    def is_proxy(address: str) -> bool:
        found = ipaddress.ip_address(address)
        return any(found in network for network in networks)

    return is_proxy if networks else lambda _: False


class Server(uvicorn.Server):
    """Serves until it is stopped; a stop by a signal is no failure.

    SIGHUP calls `on_reload`.
    """

    on_reload: Callable[[], Coroutine[Any, Any, None]]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, a few at once; the others may wait."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_BACKLOG)
        loop = asyncio.get_running_loop()
        # not outside the main thread, nor where there is no such signal
        with contextlib.suppress(ValueError, RuntimeError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, self._reload)

    def _reload(self) -> None:
        self._reloading = asyncio.ensure_future(self.on_reload())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish running requests at the first signal, stop at once at the second."""
        self.force_exit = self.should_exit
        self.should_exit = True

    def stop(self) -> None:
        """Finish what runs, and end."""
        self.should_exit = True


def make_server(
    *services: Service,
    names: frozenset[str] | None = LOOPBACK_NAMES,
    proxies: str | None = None,
    origins: Iterable[str] = (),
) -> Server:
    """Make a server of services; run it with `run(sockets=[listen(...)])`.

    Args:
        services: Closed when the server stops; the limits and tokens of the first
            hold for all.
        names: Host names to answer to; None for any.
        proxies: Addresses whose X-Forwarded-For is trusted.
        origins: Other sites whose pages may call the service.
    """
    limits = services[0].limits
    config = uvicorn.Config(
        Gate(Site(services), services[0], names, origins),
        http=make_protocol(
            limits, limit_connections(limits.connections), _parse_proxies(proxies)
        ),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        backlog=_ACCEPTED_AT_ONCE,
        h11_max_incomplete_event_size=limits.head_bytes,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=limits.stop_seconds,
    )
    server = Server(config)
    for each in services:
        each.give_up = server.stop

    async def reload_all() -> None:
        for each in services:
            await each.try_to_reload()

    server.on_reload = reload_all
    return server
