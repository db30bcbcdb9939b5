"""Follows a page of the documentation as its reader does: in a shell, from top to bottom."""

from __future__ import annotations

import os
import select
import shlex
import signal
import socket
import subprocess
import tempfile
import textwrap
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from filelock import FileLock

from tests.docs.howtos import Does, errors, lacks
from tests.notebook import as_text, notebook
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.docs.howtos import Page, Step
    from tests.notebook import Notebook

_INSTALL_SECONDS = 900  # a page that makes an environment waits for a package index
_PORT_SECONDS = 600  # another page may use the same port
_END_SECONDS = 10
_SHOWN_CHARS = 6_000
# A command that fails ends its block (as under "set -e") but not the shell, so that its variables stay set.
_FIRST = "set -Eo pipefail; trap '_code=$?; [ $BASH_SUBSHELL = 0 ] || exit $_code; return $_code' ERR\n"


class PageFailedError(AssertionError):
    """A block that does not do what the page says."""


class Shell:
    """One bash in a separate process group, which runs blocks one after the other; variables persist between blocks."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._blocks = Path(tempfile.mkdtemp(prefix="blocks-", dir=folder.parent))
        self._number = 0
        read, write = os.pipe()
        self._codes = os.fdopen(read, "rb", buffering=0)
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[write],
            start_new_session=True,
            text=True,
        )
        os.close(write)
        self._say(_FIRST + f"exec 200>&{write} {write}>&-\n")  # 200: no command of a page uses it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the shell and all processes in its group."""
        for what in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._bash.pid, what)
            until = time.monotonic() + _END_SECONDS
            while self._is_group_alive() and time.monotonic() < until:
                time.sleep(0.05)
        self._bash.wait(_END_SECONDS)
        assert self._bash.stdin is not None
        with suppress(OSError):
            self._bash.stdin.close()
        self._codes.close()

    def run(self, commands: str, *, seconds: float) -> tuple[int | None, str]:
        """Return the exit code of *commands* and their output; ``None`` if they took longer or ended the shell."""
        script, output = self._write(commands)
        self._say(f'. "{script}" </dev/null >"{output}" 2>&1 200>&-; echo $? >&200\n')
        return self._code(seconds), output.read_text("utf-8", "replace")

    def start(self, commands: str) -> Path:
        """Start *commands* and return the file with their output."""
        script, output = self._write(commands)
        self._say(f'{{ . "{script}"; }} </dev/null >"{output}" 2>&1 200>&- & echo 0 >&200\n')
        self._code(PATIENCE_SECONDS)
        return output

    def _write(self, commands: str) -> tuple[Path, Path]:
        self._number += 1
        script, output = (self._blocks / f"{self._number}.{suffix}" for suffix in ("sh", "txt"))
        script.write_text(commands, "utf-8")
        output.touch()
        return script, output

    def _say(self, text: str) -> None:
        assert self._bash.stdin is not None
        with suppress(BrokenPipeError):
            self._bash.stdin.write(text)
            self._bash.stdin.flush()

    def _code(self, seconds: float) -> int | None:
        ready, _, _ = select.select([self._codes], [], [], seconds)
        line = self._codes.readline() if ready else b""
        return int(line) if line else None

    def _is_group_alive(self) -> bool:
        self._bash.poll()
        try:
            os.killpg(self._bash.pid, 0)
        except ProcessLookupError:
            return False
        return True


def follow(page: Page, folder: Path, environment: dict[str, str]) -> None:
    """Follow *page* in *folder*; raise :class:`PageFailedError` with the block that does something else."""
    limit = _INSTALL_SECONDS if page.makes_an_environment else PATIENCE_SECONDS
    with ExitStack() as until_the_end, Shell(folder, environment) as shell:
        printed, started, cells = "", None, None
        for step, then in zip(page.steps, (*page.steps[1:], None), strict=True):
            if step.does is Does.OUTPUT:
                _compare(step, started, printed)
            elif step.does in {Does.FILE, Does.APPEND, Does.MEMBER}:
                _write(shell, step)
            elif step.does is Does.BACKGROUND:
                started = _start(shell, step, until_the_end)
            elif step.does is Does.CELL:
                cells = cells or until_the_end.enter_context(notebook(folder, environment))
                started, printed = None, _run_cell(cells, step)
            elif step.does in {Does.SHELL, Does.PYTHON, Does.GIVEN}:
                started, printed = None, _run(shell, step, limit)
                if (
                    errors(printed)
                    and step.exit == 0
                    and not (then and then.does is Does.OUTPUT and "ERROR" in then.body)
                ):
                    raise _failed(step, "it logs an error", printed)


def _run(shell: Shell, step: Step, seconds: float) -> str:
    commands = step.body
    if step.does is Does.PYTHON:
        commands = f"python - <<'END OF THE BLOCK'\n{step.body}END OF THE BLOCK\n"
    if step.terminal:
        inside = f"stty cols {step.terminal}\n{commands}"
        commands = f"script -qec {shlex.quote(inside)} /dev/null\n"
    code, printed = shell.run(commands, seconds=seconds)
    if code is None:
        raise _failed(step, f"it has not ended after {seconds} seconds, or has ended the shell", printed)
    if code != step.exit:
        raise _failed(step, f"it has exit code {code} and not {step.exit}", printed)
    return printed


def _run_cell(cells: Notebook, step: Step) -> str:
    try:
        return as_text(cells.run(step.body))
    except Exception as error:  # noqa: BLE001 - that of any cell
        raise _failed(step, "the cell fails", str(error)) from None


def _write(shell: Shell, step: Step) -> None:
    body = "\n" + textwrap.indent(step.body, "    ") if step.does is Does.MEMBER else step.body
    arrow = ">" if step.does is Does.FILE else ">>"
    code, printed = shell.run(
        f"mkdir -p \"$(dirname '{step.value}')\"\n"
        f"cat {arrow}'{step.value}' <<'END OF THE BLOCK'\n{body}END OF THE BLOCK\n",
        seconds=PATIENCE_SECONDS,
    )
    if code != 0:
        raise _failed(step, f"it cannot be written to {step.value}", printed)


def _start(shell: Shell, step: Step, until_the_end: ExitStack) -> Path:
    port = int(step.value or 0)
    if port:  # pages that run at the same time take turns
        until_the_end.enter_context(FileLock(Path(tempfile.gettempdir(), f"howto-port-{port}"), timeout=_PORT_SECONDS))
        if _listens(port):
            raise _failed(step, f"something else listens at port {port} already", "")
    output = shell.start(step.body)
    until = time.monotonic() + PATIENCE_SECONDS
    while port and not _listens(port):
        if time.monotonic() > until:
            raise _failed(step, f"nothing listens at port {port} after {PATIENCE_SECONDS} seconds", output.read_text())
        time.sleep(0.1)
    return output


def _compare(step: Step, started: Path | None, printed: str) -> None:
    until = time.monotonic() + (PATIENCE_SECONDS if started else 0)  # a server may print a little later
    while (missing := lacks(step, started.read_text("utf-8", "replace") if started else printed)) is not None:
        if time.monotonic() >= until:
            text = started.read_text("utf-8", "replace") if started else printed
            raise _failed(step, f"this line is not there, or not there in this order: {missing}", text)
        time.sleep(0.1)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _failed(step: Step, why: str, printed: str) -> PageFailedError:
    block = textwrap.indent(step.body.rstrip(), "    ")
    shown = textwrap.indent(printed[-_SHOWN_CHARS:].rstrip() or "(nothing)", "    ")
    return PageFailedError(f"line {step.line}, {step.does}: {why}\n{block}\n  printed:\n{shown}")
