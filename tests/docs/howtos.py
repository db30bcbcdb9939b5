"""The steps that a page of the documentation asks its reader to follow, parsed from its text.

A fenced block of a page is a step. Comments above it, which no reader sees, say what to do with it:

- a ``shell`` block is run, and a ``python`` block too; ``<!-- exit: 4 -->`` if it does not end with 0. Its log has no
  errors, unless the shown output has. ``<!-- terminal: 80 -->`` if it runs on a terminal of 80 columns
- ``<!-- file: NAME -->``: the block is the content of NAME; ``<!-- append: NAME -->``: it is appended to NAME;
  ``<!-- member: NAME -->``: the same, indented, as part of the last class in NAME
- ``<!-- output -->``: its lines are in the output of the previous block, in that order, or
  ``<!-- output: in any order -->``; ``...`` matches anything
- ``<!-- background: PORT -->``: it runs to the end of the page; the next steps wait until PORT listens
- ``<!-- cell -->``: it is a cell of a notebook, whose kernel runs to the end of the page
- ``<!-- not run: REASON -->``: it cannot be run in a test
- ``<!-- given: COMMANDS -->``, of one line or many, is no block: COMMANDS make what the reader already has
- ``<!-- needs: WHAT, WHAT -->``, above all blocks: the required environment (:data:`NEEDS`)

A block of another language needs such a comment, so that none is forgotten. ``pycon`` blocks are run by test_docs.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from enum import StrEnum

ANY_ORDER = "in any order"
NEEDS = frozenset({"checkout", "chromium", "object-store", "project", "scrapyd"})
"""``project``: a new project of Scrapy; ``checkout``: a copy of this repository, without its tests; the others:
installed programs. ``object-store`` is a real one, with a bucket named ``bucket``."""
SERVICES = frozenset({"chromium", "object-store", "scrapyd"})


class PageError(Exception):
    """A page that cannot be run as written."""


class Does(StrEnum):
    """The action of a step."""

    SHELL = "shell"
    PYTHON = "python"
    GIVEN = "given"
    BACKGROUND = "background"
    FILE = "file"
    APPEND = "append"
    MEMBER = "member"
    OUTPUT = "output"
    CELL = "cell"
    EXCUSED = "not run"
    EXAMPLE = "example"


_OF_A_LANGUAGE = {"shell": Does.SHELL, "sh": Does.SHELL, "python": Does.PYTHON, "pycon": Does.EXAMPLE}
_OF_A_BLOCK = {str(does): does for does in Does if does not in {Does.SHELL, Does.PYTHON, Does.GIVEN}}
_PRINT = {Does.SHELL, Does.PYTHON, Does.CELL, Does.BACKGROUND}
_WITH_A_VALUE = {Does.FILE, Does.APPEND, Does.MEMBER, Does.EXCUSED}
_PIECE = re.compile(
    r"^[ ]*<!--(?P<comment>.*?)-->[ ]*$"
    r"|^(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```[ ]*$"
    r"|^(?P<open>[ ]*```[^\n]*)$"
    r"|^(?P<text>[^\n]*\S[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
_LOG_PREFIX = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[\w.]+\] [A-Z]+: ")
_LOG_ERROR = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[\w.]+\] (ERROR|CRITICAL): ")
_SECONDS = re.compile(r"\d+\.\d+( seconds\.)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One block of a page."""

    line: int
    """The line in the page on which it begins, counted from 1."""
    does: Does
    body: str = ""
    language: str = ""
    value: str = ""
    """A file name, a port or a reason; empty if there is none."""
    exit: int = 0
    """The expected exit code."""
    terminal: int = 0
    """The width of its terminal; 0 if its output goes to a pipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The steps, in order, and the required environment."""

    steps: tuple[Step, ...]
    needs: frozenset[str] = frozenset()

    @property
    def makes_an_environment(self) -> bool:
        """Whether the page makes its own virtual environment."""
        return any("-m venv" in step.body for step in self.steps if step.does in {Does.SHELL, Does.GIVEN})


def read_page(text: str) -> Page:
    """Return the steps of a page, or raise :class:`PageError` with the first line that is invalid."""
    needs: set[str] = set()
    steps: list[Step] = []
    waiting: list[tuple[str, str]] = []
    for piece in _PIECE.finditer(text):
        line = text.count("\n", 0, piece.start()) + 1
        if piece["comment"] is not None:
            word, _, value = piece["comment"].strip().partition(":")
            word, value = word.strip(), value.strip("\n") if word.strip() == "given" else value.strip()
            if word == "given":
                steps.append(Step(line=line, does=Does.GIVEN, body=textwrap.dedent(value).strip() + "\n"))
            elif word == "needs":
                needs |= _needs(value, line)
            else:
                waiting.append((word, value))
        elif piece["body"] is not None:
            body = textwrap.dedent(piece["body"]) if piece["indent"] else piece["body"]
            steps.append(_step(line, piece["language"], body, waiting, steps))
            waiting = []
        elif piece["open"] is not None:
            raise PageError(f"line {line}: a block that has no end")
        elif waiting:
            raise PageError(f"line {line}: {waiting[0][0]!r} is not above a block")
    if waiting:
        raise PageError(f"{waiting[0][0]!r} is not above a block")
    return Page(steps=tuple(steps), needs=frozenset(needs))


def lacks(step: Step, printed: str) -> str | None:
    """Return the first line of the output *step* that was not *printed* after the previous ones; ``None`` if all were.

    ``...`` in a line matches any text, and alone in a line any lines; an empty line does too, as shown output may be
    shortened. The start of a log line, up to its level, is optional, a number of seconds at the end of a line matches
    any number, and in JSON neither indentation nor a comma at the end of a line counts.
    """
    is_json = step.language == "json"
    printed_lines = [line.strip() if is_json else line.rstrip() for line in printed.splitlines()]
    lines = [line for one in printed_lines for line in {one, _LOG_PREFIX.sub("", one)}]
    left = iter(lines)
    for shown in step.body.splitlines():
        if shown.strip() in {"", "..."}:
            continue
        pattern = _pattern(shown.strip() if is_json else shown.rstrip(), is_json=is_json)
        if not any(map(pattern.fullmatch, lines if step.value == ANY_ORDER else left)):
            return shown
    return None


def errors(printed: str) -> list[str]:
    """Return the lines of a log that report errors: ``scrapy crawl`` has exit code 0 in any case."""
    return [line for line in printed.splitlines() if _LOG_ERROR.match(line) or line.startswith("Traceback ")]


def _pattern(shown: str, *, is_json: bool) -> re.Pattern[str]:
    start, seconds, end = shown, "", ""
    if is_json:
        start, end = shown.rstrip(","), ",?"
    elif found := _SECONDS.search(shown):
        start, seconds, end = shown[: found.start()], r"[\d.]+", re.escape(found[1] or "")
    return re.compile(".*".join(map(re.escape, start.split("..."))) + seconds + end)


def _needs(value: str, line: int) -> set[str]:
    named = {word.strip() for word in value.split(",")}
    if unknown := named - NEEDS:
        raise PageError(f"line {line}: needs {', '.join(sorted(unknown))}; there are {', '.join(sorted(NEEDS))}")
    return named


def _step(line: int, language: str, body: str, said: list[tuple[str, str]], before: list[Step]) -> Step:
    does = [_OF_A_BLOCK[word] for word, _ in said if word in _OF_A_BLOCK]
    if unknown := [word for word, _ in said if word not in _OF_A_BLOCK and word not in {"exit", "terminal"}]:
        raise PageError(f"line {line}: {unknown[0]!r} is nothing that can be said of a block")
    if len(does) > 1:
        raise PageError(f"line {line}: it is both '{does[0]}' and '{does[1]}'")
    if not does and language not in _OF_A_LANGUAGE:
        raise PageError(f"line {line}: nothing says what to do with a block of {language or 'no language'}")
    does = does or [_OF_A_LANGUAGE[language]]
    values = dict(said)
    value = values.get(str(does[0]), "")
    if does[0] in _WITH_A_VALUE and not value:
        raise PageError(f"line {line}: '{does[0]}' says nothing behind its colon")
    if does[0] is Does.OUTPUT and not any(
        step.does in {Does.SHELL, Does.PYTHON, Does.CELL, Does.BACKGROUND} for step in before
    ):
        raise PageError(f"line {line}: nothing before it prints anything")
    code = _number(line, "exit", values)
    if does[0] is Does.BACKGROUND:
        _number(line, "background", values)
    terminal = _number(line, "terminal", values)
    return Step(line=line, does=does[0], body=body, language=language, value=value, exit=code, terminal=terminal)


def _number(line: int, name: str, values: dict[str, str]) -> int:
    text = values.get(name) or "0"
    if not text.isdecimal():
        raise PageError(f"line {line}: {name}: {text!r} is no number")
    return int(text)
