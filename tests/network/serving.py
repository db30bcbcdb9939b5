"""The process that serves the network: ``python -m tests.network.serving SHAPE SECONDS``.

Writes its port when every host is ready. Ends when its input ends (so also with its parent), or after some seconds, and
then writes the requests as JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
import time
from contextlib import ExitStack, suppress
from typing import Any

from tests.network.hosts import Host, Sort, hosts_of

_BACKLOG = 100
_TRIES = 20  # attempts to find a port that is free on every address


class Connection(asyncio.Protocol):
    """Answers requests one after the other, with prepared responses."""

    def __init__(self, hosts: dict[str, Host], requests: list[tuple[float, str]]) -> None:
        self._hosts = hosts
        self._requests = requests
        self._unread = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._host = self._hosts[transport.get_extra_info("sockname")[0]]

    def data_received(self, data: bytes) -> None:
        *heads, self._unread = (self._unread + data).split(b"\r\n\r\n")
        for head in heads:
            path = head.split(b" ", 2)[1].decode("latin-1")
            self._requests.append((time.monotonic(), f"{self._host.url}{path}"))
            if self._host.sort is not Sort.HANGING:
                self._transport.write(self._host.response(path))


async def serve(shape: dict[str, Any], seconds: float) -> None:
    """Serve the hosts of *shape*."""
    sockets = _listen([host.address for host in hosts_of(**shape, port=0) if host.sort is not Sort.REFUSING])
    port = sockets[0].getsockname()[1]
    hosts = {host.address: host for host in hosts_of(**shape, port=port)}
    for host in hosts.values():
        assert host.pages is not None  # prepared in advance, so that responses cost little
    requests: list[tuple[float, str]] = []
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for listening in sockets:
        await loop.create_server(lambda: Connection(hosts, requests), sock=listening, backlog=_BACKLOG)
    loop.add_reader(sys.stdin.fileno(), stopped.set)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    with suppress(TimeoutError):
        await asyncio.wait_for(stopped.wait(), seconds)
    json.dump(requests, sys.stdout)


def _listen(addresses: list[str]) -> list[socket.socket]:
    """Return a socket for each of *addresses*, all with one port."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for _ in range(_TRIES):
        with ExitStack() as bound:
            sockets: list[socket.socket] = []
            with suppress(OSError):  # the port that was free on the first address is in use on another one
                for address in addresses:
                    listening = bound.enter_context(socket.socket())
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    listening.bind((address, sockets[0].getsockname()[1] if sockets else 0))
                    sockets.append(listening)
                bound.pop_all()
                return sockets
    raise OSError(f"no port is free on {len(addresses)} addresses")


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1]), float(sys.argv[2])))
