"""Programs ``scrapy`` and ``sitemap-harvest`` for a shell, which run in a process that is forked off.

See :mod:`tests.forked`. They have the arguments, folder, environment, standard files and signals of the real ones, and
end as those do.
"""

from __future__ import annotations

import atexit
import marshal
import os
import socket
import sys
from contextlib import suppress
from functools import cache
from multiprocessing import connection, reduction
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingUnixStreamServer
from tempfile import TemporaryDirectory
from threading import Thread

from scrapy import cmdline

from sitemap_harvest.cli.main import main
from sitemap_harvest.cli.parsers import PROGRAM
from tests.forked import FORKSERVER

_PROGRAM = """\
#!{python} -IS
import marshal, os, signal, socket, sys

server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
given = marshal.dumps((sys.argv, os.getcwd(), dict(os.environ)))
socket.send_fds(server, [len(given).to_bytes(8, "big")], [0, 1, 2])
server.sendall(given)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: server.sendall(bytes([number])))
code = int.from_bytes(server.recv(4), "big", signed=True)
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@cache
def scrapy_program() -> Path:
    """Return the path of ``scrapy``, with ``sitemap-harvest`` beside it; they work as long as this process."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    server = ThreadingUnixStreamServer(f"{folder.name}/socket", _Command)
    for name in ("scrapy", PROGRAM):
        program = Path(folder.name, name)
        program.write_text(_PROGRAM.format(python=sys.executable, address=server.server_address))
        program.chmod(0o755)
    Thread(target=server.serve_forever, daemon=True).start()
    return Path(folder.name, "scrapy")


class _Command(BaseRequestHandler):
    def handle(self) -> None:
        length, files, *_ = socket.recv_fds(self.request, 8, 3)
        given = self.request.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
        process = FORKSERVER.Process(target=_execute, args=(given, [_Sent(file) for file in files]), daemon=True)
        process.start()
        for file in files:
            os.close(file)
        while process.sentinel not in connection.wait([process.sentinel, self.request]):
            signal = self.request.recv(1)
            if signal:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal[0])
            else:  # the program was killed
                process.kill()
                break
        process.join()
        with suppress(OSError):
            self.request.sendall(process.exitcode.to_bytes(4, "big", signed=True))


class _Sent:
    """A file descriptor among the arguments of a process: there it is the number that the process has it by."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self):
        return _received, (reduction.DupFd(self.number),)


def _received(sent) -> int:
    return sent.detach()


def _execute(given: bytes, files: list[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "r" if n == 0 else "w", 1, closefd=False) for n in range(3))
    arguments, folder, environment = marshal.loads(given)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    own = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *own]
    try:
        if Path(arguments[0]).name == PROGRAM:
            sys.exit(main(arguments[1:]))
        cmdline.execute(arguments)
    finally:
        atexit._run_exitfuncs()  # multiprocessing ends its children without them
