"""Draws docs/run.svg, the picture of a run: ``python -m tests.docs.picture``.

It runs the first command of docs/start.md on the demo site, in a terminal, and saves the final screen. Needs a system
with pseudo-terminals.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import shutil
import struct
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "run.svg"
COMMAND = "sitemap-harvest crawl https://www.example.com --root fixtures/demo -O urls.jsonl"
WIDTH = 104  # columns
_PROMPT = Text("$ ", style="green")
_CONTROL = re.compile(r"(\r\n|\n|\r|\x1b\[\d*A|\x1b\[2K|\x1b\[\?25[lh])")


def terminal_output(command: list[str], *, folder: Path) -> str:
    """Return the output of *command* on a terminal, with its escape sequences."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
    written = b""
    while block := _block(terminal):
        written += block
    os.waitpid(pid, 0)
    os.close(terminal)
    return written.decode()


def _block(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: the program has ended
        return b""


def screen(written: str) -> list[str]:
    """Return the lines on the terminal once all is *written*; colours stay as escape sequences."""
    lines, row, is_at_start = [""], 0, True
    for piece in filter(None, _CONTROL.split(written)):
        if piece in {"\n", "\r\n"}:
            row, is_at_start = row + 1, True
            lines += [""] * (row + 1 - len(lines))
        elif piece == "\r":
            is_at_start = True
        elif piece.endswith("A"):
            row = max(row - int(piece[2:-1] or 1), 0)
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif not piece.startswith("\x1b[?25"):
            lines[row] = piece if is_at_start else lines[row] + piece
            is_at_start = False
    return lines


def draw(lines: list[str], picture: Path) -> None:
    """Save *lines*, below the command that wrote them, as an image."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(_PROMPT, COMMAND))
    for line in lines:
        text = Text.from_ansi(line)
        for part in text.divide(range(WIDTH, len(text), WIDTH)):  # where a terminal breaks it, not between words
            console.print(part, overflow="ignore", no_wrap=True)
    console.print(_PROMPT)
    console.save_svg(str(picture), title="sitemap_harvest", unique_id="run")


def main() -> None:
    """Draw the picture."""
    program, *arguments = shlex.split(COMMAND)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "fixtures" / "demo", Path(folder) / "fixtures" / "demo")
        command = [str(Path(sys.executable).parent / program), *arguments]
        lines = screen(terminal_output(command, folder=Path(folder)))
    while lines and not lines[-1]:
        lines.pop()
    draw(lines, PICTURE)


if __name__ == "__main__":
    main()
