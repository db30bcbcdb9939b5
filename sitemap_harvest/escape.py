"""Escapes foreign text for terminals and logs. Data is never escaped.

A document, a header, a file name or an error message that quotes one may contain
characters that control a terminal, change the direction of text, are invisible, or end
a line and forge the next one. Imports nothing from the package.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Number
from typing import Any

# Printable in Python but invisible: Unicode's default-ignorable characters, and the empty Braille pattern.
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_PRINTABLE_INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_NOT_INDENTED = re.compile(r"\n(?! )")
_ON_ITS_OWN_LINE = re.compile(r"\n%\((\w+)\)s")


def visible(text: str) -> str:
    r"""Return *text* as one line, with ``\x1b``, ``\n`` or ``\u202e`` for control and invisible characters."""
    if text.isprintable() and (text.isascii() or not _PRINTABLE_INVISIBLE.search(text)):
        return text
    return "".join(map(_visible, text))


def visible_lines(text: str) -> str:
    """Return *text* with its lines and tabs, and otherwise escaped as by :func:`visible`."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def visible_traceback(text: str, error: BaseException | None) -> str:
    """Return the traceback *text* of *error*, escaped; the lines of messages in it are indented."""
    waiting, known = [error], set()
    while waiting:
        if (one := waiting.pop()) is None or id(one) in known:
            continue
        known.add(id(one))
        if "\n" in (message := _message(one)):
            text = text.replace(message, _indented(message))
        waiting += (one.__cause__, one.__context__, *getattr(one, "exceptions", ()))
    return visible_lines(text)


def ascii_json(value: Any, **arguments: Any) -> str:
    """Return *value* as JSON text that is harmless on a terminal and decodes to the same value."""
    return json.dumps(value, **arguments).replace("\x7f", r"\u007f")


def escape_log() -> None:
    """Escape foreign text in all later log records of this process, for every logger and handler.

    Only the formatted text changes: ``msg`` and ``args`` stay as logged.
    """
    create = logging.getLogRecordFactory()
    if not (isinstance(create, partial) and create.func is _escaped):
        logging.setLogRecordFactory(partial(_escaped, create))


def _escaped(create: Callable[..., logging.LogRecord], *args: Any, **kwargs: Any) -> logging.LogRecord:
    """Return a log record from the factory *create* that escapes its text."""
    record = create(*args, **kwargs)
    if type(record) is logging.LogRecord:
        record.__class__ = EscapedRecord
    return record


class EscapedRecord(logging.LogRecord):
    """A log record without control characters, whose arguments cannot forge a line of the log.

    An argument becomes one line, unless the message puts it on its own line, as Scrapy
    does with settings and items: then it keeps its lines, indented. The message itself
    comes from code and keeps its lines; without arguments it may contain foreign text,
    so its lines are indented.
    """

    def getMessage(self) -> str:  # noqa: N802 - the name in logging
        """Return the message with its arguments, escaped."""
        message, args = str(self.msg), self.args
        try:
            if args and isinstance(args, Mapping):
                blocks = _ON_ITS_OWN_LINE.findall(message)
                shown = {name: _indented(str(one)) if name in blocks else _argument(one) for name, one in args.items()}
                return visible_lines(message % shown)
            if args:
                return visible_lines(message % tuple(map(_argument, args)))
        except TypeError:  # %d and %c format some arguments, but not their replacements
            pass
        return _indented(visible_lines(super().getMessage()))

    @property
    def exc_text(self) -> str | None:
        """The traceback as text, escaped; formatters set it, and read it back."""
        return self.__dict__["exc_text"]  # type: ignore[no-any-return]

    @exc_text.setter
    def exc_text(self, text: str | None) -> None:
        error = self.exc_info[1] if isinstance(self.exc_info, tuple) else None
        self.__dict__["exc_text"] = visible_traceback(text, error) if text else text


def _visible(character: str) -> str:
    if character.isprintable() and not _PRINTABLE_INVISIBLE.match(character):
        return character
    return ascii(character)[1:-1]


def _argument(value: object) -> object:
    """Return a replacement for *value* in a message: ``repr()`` needs none, because it quotes strings."""
    if isinstance(value, Number) or (not isinstance(value, str) and type(value).__str__ is object.__str__):
        return value
    return _OneLine(value)


@dataclass(frozen=True, slots=True)
class _OneLine:
    """A value whose text is one line."""

    value: object

    def __str__(self) -> str:
        return visible(str(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


def _indented(text: str) -> str:
    """Return *text* with all lines except the first indented, so that none looks like the start of a record."""
    return _NOT_INDENTED.sub("\n    ", text)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - __str__ may raise anything
        return ""
