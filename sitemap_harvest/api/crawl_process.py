"""The process in which a run of ``harvest()`` crawls: a run needs a process, because Scrapy's reactor starts only once.

Its standard input carries the job, and stays open as long as the caller wants the result. Its standard error carries
the log, as lines of JSON. A Ctrl-C in the terminal reaches only the caller, which then ends the process. Python never
interrupts a caller in another thread than the main one: then the Ctrl-C reaches the process too.
"""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import subprocess
import sys
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import IO, TYPE_CHECKING, Any

from sitemap_harvest.errors import HarvestError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger(__name__)

PROGRAM = "sitemap_harvest.cli.harvest_process"
_GRACE_SECONDS = 15  # to close its store; then it is killed, which damages no store
_SILENT_SECONDS = 2
_LOG_LINES = 30  # of the end of the log, for an error
_POLL_SECONDS = 0.5  # Windows interrupts no longer wait
_OWN_GROUP: Mapping[str, Any] = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    if sys.platform == "win32"
    else {"start_new_session": True}
)


class _Pickler(pickle.Pickler):
    """Rejects classes and functions that the process cannot import."""

    def reducer_override(self, obj: Any) -> Any:
        if getattr(obj, "__module__", None) == "__main__":
            raise pickle.PicklingError(f"{obj!r} is defined in the script or notebook; move it to a module")
        return NotImplemented


def packed(job: Mapping[str, Any]) -> bytes:
    """Return *job* in the form of :func:`run_job`. Raises :exc:`OptionError` if the process could not load it."""
    file = io.BytesIO()
    try:
        _Pickler(file).dump(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(f"settings: a value cannot be sent to the process of the run: {error}") from error
    return file.getvalue()


def run_job(job: bytes) -> tuple[int, str]:
    """Run *job* to its end; return the exit code of the process, and the last lines of its log.

    Log records go to the loggers of the same names here. The process ends with any exception, such as
    :exc:`KeyboardInterrupt`.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise HarvestError("harvest() starts a Python interpreter, and sys.executable is none")
    if getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", None) == PROGRAM:  # it would never end
        raise HarvestError(
            "harvest() is called in the process of a run, which has imported the module that calls it: rename the "
            "module if it has the name of a library, such as h2.py; move what the settings name to another module; or "
            "call harvest() under if __name__ == '__main__':"
        )
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)  # noqa: PTH100 - "" is the current folder
    process = subprocess.Popen(  # noqa: S603 - the same interpreter
        [sys.executable, "-P", "-m", PROGRAM],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        **(_OWN_GROUP if current_thread() is main_thread() else {}),
    )
    assert process.stdin is not None  # noqa: S101 - for mypy
    assert process.stderr is not None  # noqa: S101 - the same
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_read, args=(process.stderr, lines), daemon=True).start()
    log: deque[str] = deque(maxlen=_LOG_LINES)
    try:
        with suppress(BrokenPipeError):  # it has failed: the log says why
            process.stdin.write(job)
            process.stdin.flush()
        while (line := _next(lines, process)) is not None:
            log.append(_relayed(line))
        return process.wait(), "\n".join("\n".join(log).split("\n")[-_LOG_LINES:])
    except BaseException:
        _end(process)
        raise
    finally:
        with suppress(OSError):
            process.stdin.close()


def _read(file: IO[bytes], lines: SimpleQueue[bytes | None]) -> None:
    with file:
        for line in file:
            lines.put(line)
    lines.put(None)


def _next(lines: SimpleQueue[bytes | None], process: subprocess.Popen[bytes]) -> bytes | None:
    """Return the next line; ``None`` at the end, even if another process, such as a browser, keeps the pipe open."""
    while True:
        try:
            return lines.get(timeout=_POLL_SECONDS)
        except Empty:
            if process.poll() is not None:
                return None


def _relayed(line: bytes) -> str:
    """Log *line*, a record of the process, here too; return it as text."""
    text = line.decode("utf-8", "replace").rstrip()
    try:
        fields = json.loads(text)
        name, level, message = (fields[name] for name in ("logger", "level", "message"))
    except (ValueError, KeyError, TypeError):  # not from its log: a traceback, or a warning
        return text
    message = "\n".join(filter(None, (message, fields.get("exception"))))
    logger, number = logging.getLogger(name), logging.getLevelName(level)
    if isinstance(number, int) and logger.isEnabledFor(number):
        record = {"name": name, "levelno": number, "levelname": level, "msg": message}
        logger.handle(logging.makeLogRecord(record))
    return f"{level}: {message}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the crawl, so that it closes its store; kill it if that takes long, or at a second interrupt."""
    assert process.stdin is not None  # noqa: S101 - for mypy
    try:
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_SILENT_SECONDS)
        except subprocess.TimeoutExpired:
            logger.warning("The run is ending, in %s seconds at most; interrupt it again to end it now", _GRACE_SECONDS)
            process.wait(_GRACE_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
