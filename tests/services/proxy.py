"""A real proxy on loopback: Tinyproxy, with or without a login."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.services.programs import tinyproxy
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONFIGURATION = """\
Port {port}
Listen 127.0.0.1
Allow 127.0.0.1
LogFile "{folder}/tinyproxy.log"
LogLevel Connect
Timeout 30
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy."""

    port: int
    log: Path

    def address(self, login: str = "") -> str:
        """Return its address, with *login* (user and password, escaped) in it."""
        return f"http://{login}{'@' if login else ''}127.0.0.1:{self.port}"

    def requests(self) -> list[str]:
        """Return the request lines that it forwarded."""
        return [line.partition("): ")[2] for line in self.log.read_text().splitlines() if "Request (" in line]


@contextmanager
def running_proxy(folder: Path, login: tuple[str, str] | None = None) -> Iterator[Proxy]:
    """Run a proxy that keeps its files in *folder* and requires *login*, a name and a password, if given."""
    program = tinyproxy()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration = folder / "tinyproxy.conf"
    text = _CONFIGURATION.format(port=port, folder=folder)
    configuration.write_text(text + (f"BasicAuth {login[0]} {login[1]}\n" if login else ""))
    process = subprocess.Popen([program, "-d", "-c", str(configuration)], stdout=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield Proxy(port, folder / "tinyproxy.log")
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until *process* listens on *port*."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, f"{process.args!r} has ended"
            assert time.monotonic() < until, f"{process.args!r} does not listen"
            time.sleep(0.02)
        else:
            return
