"""Foreign text is shown in full and has no effect, wherever a person sees it."""

from __future__ import annotations

import ast
import copy
import io
import json
import logging
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sitemap_harvest
from sitemap_harvest.escape import EscapedRecord, ascii_json, escape_log, visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(sitemap_harvest.__file__).parent


@dataclass
class Item:
    """Shown by its ``repr()``."""

    loc: str


class Text:
    """An object, not a string, with a free ``__str__``."""

    def __str__(self) -> str:
        return "a\nb\x1b"

    def __repr__(self) -> str:
        return "<Text>"


class Lines:
    """Has a ``repr()`` of several lines, like Scrapy's items."""

    def __repr__(self) -> str:
        return "{'a': 1,\n 'b': '\\x1b'}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://a.example/?a=1", "https://a.example/?a=1", id="plain"),
        pytest.param("https://ä.example/日本 é 😀", "https://ä.example/日本 é 😀", id="letters"),
        pytest.param(r"C:\new", r"C:\new", id="backslash"),
        pytest.param("a\x1b]0;t\x07\x1b[2Jb\x7f", r"a\x1b]0;t\x07\x1b[2Jb\x7f", id="c0"),
        pytest.param("a\x9b2J\x85b", r"a\x9b2J\x85b", id="c1"),
        pytest.param("a\r\n\t\x0b\x0c\u2028\u2029b", r"a\r\n\t\x0b\x0c\u2028\u2029b", id="line-ends"),
        pytest.param("\u202a\u202e\u2066\u2069\u200e", r"\u202a\u202e\u2066\u2069\u200e", id="bidi"),
        pytest.param("\u200f\u061c", r"\u200f\u061c", id="bidi-marks"),
        pytest.param("\u200b\u200d\u2060\ufeff\u00ad", r"\u200b\u200d\u2060\ufeff\xad", id="zero-width"),
        pytest.param("\U000e0001\U000e0041", r"\U000e0001\U000e0041", id="tags"),
        pytest.param("\u115f\u3164\ufe0f\u2800\u034f", r"\u115f\u3164\ufe0f\u2800\u034f", id="printable-whitespace"),
        pytest.param("a\u00a0\u3000b", r"a\xa0\u3000b", id="other-spaces"),
        pytest.param("a\udce4\ud83d", r"a\udce4\ud83d", id="surrogates"),
        pytest.param("\ue000\U0010ffff", r"\ue000\U0010ffff", id="no-characters"),
    ],
)  # fmt: skip
def test_invisible_and_control_characters_are_escaped(text: str, expected: str) -> None:
    assert visible(text) == expected
    assert visible(expected) == expected
    assert visible_lines(f"a\n\t{text}\n".replace(text, expected)) == f"a\n\t{expected}\n"


def test_json_keeps_its_value_and_is_harmless() -> None:
    text = "\x00\x1b\x7f\x9b\u202e\ud800ä"
    assert json.loads(ascii_json({"a": text})) == {"a": text}
    assert visible(ascii_json(text)) == ascii_json(text)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return the output of the logger ``theirs``, as Scrapy's formatter writes it."""
    before, written = logging.getLogRecordFactory(), io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("[%(name)s] %(levelname)s: %(message)s"))
    logger = logging.getLogger("theirs")
    logger.addHandler(handler)
    logger.propagate = False
    escape_log()
    yield written
    logger.removeHandler(handler)
    logger.propagate = True
    logging.setLogRecordFactory(before)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(("%s of %d, %.1f", "a", 2, 2.5), "a of 2, 2.5", id="plain"),
        pytest.param(("100% of",), "100% of", id="per-cent"),
        pytest.param(("%s", "a\n[x] ERROR: b\r\x1b"), r"a\n[x] ERROR: b\r\x1b", id="text"),
        pytest.param(("%r", "a\n\x1b"), r"'a\n\x1b'", id="repr"),
        pytest.param(("%-6s|%.3s|", "a", "b\x1b"), "a     |b\\x|", id="width"),
        pytest.param(("%(url)s", {"url": "a\n\u202e"}), r"a\n\u202e", id="by-name"),
        pytest.param(("%s", Path("a\nb")), r"a\nb", id="file-name"),
        pytest.param(("%s", ValueError("a\nb")), r"a\nb", id="exception"),
        pytest.param(("%s %r", Text(), Text()), r"a\nb\x1b <Text>", id="object"),
        pytest.param(("%s", {"a\n": ["\x1b"]}), r"{'a\n': ['\x1b']}", id="container"),
        pytest.param(("%s", Item("\x1b\u202e")), r"Item(loc='\x1b\u202e')", id="item"),
        pytest.param(("Scraped\n%(item)s", {"item": Lines()}), "Scraped\n{'a': 1,\n 'b': '\\x1b'}", id="lines-of-item"),
        pytest.param(("Found\n%(list)s", {"list": "[a,\n b,\nc\x1b]"}), "Found\n[a,\n b,\n    c\\x1b]", id="block"),
        pytest.param(("own\x1b\nline",), "own\\x1b\n    line", id="message"),
        pytest.param((Text(),), "a\n    b\\x1b", id="message-is-no-text"),
        pytest.param(("%c: %s", "x", "a\nb"), "x: a\n    b", id="one-that-only-the-argument-fits"),
    ],
)
def test_no_argument_of_a_log_line_forges_another(log: io.StringIO, given: tuple[object, ...], expected: str) -> None:
    logging.getLogger("theirs").error(*given)
    assert log.getvalue() == f"[theirs] ERROR: {expected}\n"


def test_no_message_of_an_exception_forges_a_log_line(log: io.StringIO) -> None:
    error = RuntimeError("c\r\n d\n[x] ERROR: e")
    error.__cause__ = ValueError("a\n[x] ERROR: b\x1b")
    logging.getLogger("theirs").error("failed", exc_info=error)
    assert log.getvalue() == (
        "[theirs] ERROR: failed\n"
        "ValueError: a\n"
        "    [x] ERROR: b\\x1b\n"
        "\n"
        "The above exception was the direct cause of the following exception:\n"
        "\n"
        "RuntimeError: c\\r\n"
        " d\n"
        "    [x] ERROR: e\n"
    )


def test_a_record_keeps_what_was_logged() -> None:
    before = logging.getLogRecordFactory()
    try:
        escape_log()
        escape_log()
        factory = logging.getLogRecordFactory()
        record = factory("theirs", logging.INFO, "f", 1, "a %s", ("\x1b",), None)
    finally:
        logging.setLogRecordFactory(before)
    assert type(record) is EscapedRecord
    assert (record.msg, record.args, record.exc_text) == ("a %s", ("\x1b",), None)
    for same in (pickle.loads(pickle.dumps(record)), copy.copy(record)):
        assert same.getMessage() == r"a \x1b"


def test_arguments_that_do_not_fit_fail_as_without_escaping() -> None:
    record = EscapedRecord("theirs", logging.INFO, "f", 1, "%d", ("x",), None)
    with pytest.raises(TypeError):
        record.getMessage()


def messages(module: Path) -> Iterator[ast.expr]:
    """Yield the message of each logging call in *module*."""
    calls = (node for node in ast.walk(ast.parse(module.read_bytes())) if isinstance(node, ast.Call))
    for call in calls:
        if re.search(r"logger\.(debug|info|warning|error|critical|exception|log)$", ast.unparse(call.func)):
            yield (call.args[1:] or call.args)[0] if call.func.attr == "log" else call.args[0]


def test_log_messages_are_constants() -> None:
    """Foreign text is an argument, because a message may have several lines; that of an item is Scrapy's."""
    others = {
        (module.name, ast.unparse(message))
        for module in PACKAGE.rglob("*.py")
        for message in messages(module)
        if not isinstance(message, ast.Constant)
    }
    assert others == {("item_processor.py", "*logformatter_adapter(words)")}
