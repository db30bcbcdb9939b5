"""Every regular expression of the readers takes time in proportion to the text, for any text.

Nothing has to be listed here: all compiled patterns are found in the modules, their use is found in the source, and the
most expensive texts are generated from the pattern. Dates are excluded: a text of more than 128 characters is rejected
before any pattern sees it.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]  # re has no public parser of patterns
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import sitemap_harvest.formats
import sitemap_harvest.urls
from sitemap_harvest.formats.html import headings, page
from tests.machine import processor_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE, LARGE = 4_000, 16_000
FAST = 0.25e-6  # seconds per character: a text of these sizes that takes less time is not measured again
GROWTH = 7  # the limit for the growth of time at four times the text: 4 is linear, 16 is quadratic
MODULES = [
    importlib.import_module(found.name)
    for package in (sitemap_harvest.formats, sitemap_harvest.urls)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
SIGNS = (" ", "\n", "\t", "a", "1", "<", ">", '"', "'", "/", ".", ",", ":", "@", "-", "=", "(", "[", "]", "&", "#", "?")


class Used(NamedTuple):
    """A pattern and its method."""

    pattern: re.Pattern[Any]
    method: str


def _all() -> Iterator[Any]:
    for module in MODULES:
        source = Path(module.__file__ or "").read_text(encoding="utf-8")
        for name, value in vars(module).items():
            for place, pattern in _patterns(value):
                methods = set(re.findall(rf"\b{name}\.(match|fullmatch|search|sub|split|find\w+)\b", source))
                for method in sorted(methods) or ["search"]:
                    yield pytest.param(Used(pattern, method), id=f"{module.__name__}.{name}{place}-{method}")
    for function in (headings._not_found, headings._site_map):
        yield pytest.param(Used(function(), "fullmatch"), id=f"headings.{function.__name__}")
    for place, pattern in _patterns(page._challenges()):
        yield pytest.param(Used(pattern, "search"), id=f"page._challenges{place}")


def _patterns(value: Any, place: str = "") -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield place, value
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from _patterns(one, f"{place}[{number}]")


ALL = list(_all())


def test_all_patterns_are_found() -> None:
    assert len(ALL) > 300
    assert {"sitemap_harvest.formats.sniff._LINK_LINE-search", "sitemap_harvest.urls.key._PARTS-fullmatch"} <= {
        str(parameters.id) for parameters in ALL
    }


@pytest.mark.parametrize("used", [one for one in ALL if "_challenges" not in str(one.id)])
def test_a_pattern_is_linear(used: Used) -> None:
    for start, token, end in _texts(used.pattern, most=3):
        _check(used, start, token, end, SIZE)


@pytest.mark.thorough
@pytest.mark.parametrize("used", ALL)
def test_a_pattern_is_linear_on_long_texts(used: Used) -> None:
    for start, token, end in _texts(used.pattern, most=12):
        _check(used, start, token, end, LARGE)


@pytest.mark.thorough
def test_a_quadratic_pattern_is_found() -> None:
    with pytest.raises(pytest.fail.Exception, match="times as long"):
        _check(Used(re.compile("<a[^>]*x"), "search"), "", "<a", "", SIZE)


def _check(used: Used, start: str, token: str, end: str, size: int) -> None:
    run = _runner(used)
    if _seconds(run, _text(used, start, token, end, size)) < size * FAST:
        return
    growths = []
    for chars in (size, size, size, 2 * size):  # other processes may disturb one measurement, but hardly all
        seconds = _seconds(run, _text(used, start, token, end, chars))
        growths.append(_seconds(run, _text(used, start, token, end, 4 * chars)) / seconds)
        if growths[-1] < GROWTH:
            return
    pytest.fail(f"{start!r}, {token!r} repeated, {end!r}: four times the text takes {growths} times as long")


def _text(used: Used, start: str, token: str, end: str, size: int) -> Any:
    text = start + token * (size // len(token)) + end
    return text.encode("utf-8", "surrogateescape") if isinstance(used.pattern.pattern, bytes) else text


def _runner(used: Used) -> Callable[[Any], object]:
    pattern, method = used
    empty: Any = b"" if isinstance(pattern.pattern, bytes) else ""
    if method == "sub":
        return lambda text: pattern.sub(lambda _: empty, text)
    if method == "finditer":
        return lambda text: list(pattern.finditer(text))
    function: Callable[[Any], object] = getattr(pattern, method)
    return function


def _seconds(run: Callable[[Any], object], text: Any) -> float:
    return processor_seconds(lambda: run(text))


def _texts(pattern: re.Pattern[Any], *, most: int) -> Iterator[tuple[str, str, str]]:
    """Yield start, token and end of texts that may be slow for *pattern*: a start that matches, then many tokens."""
    parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else 0)
    starts = list(dict.fromkeys(_starts(parsed)))
    tokens = dict.fromkeys([*_tokens(parsed), *SIGNS])
    few = list(dict.fromkeys([*starts[:most], *starts[-most:]]))
    for start, token in itertools.product(few, tokens):
        for end in ("", "\x00"):
            yield start, token, end
    if most > len(starts):
        for one, two in itertools.product(list(tokens)[:most], repeat=2):
            yield "", one + two, "\x00"


def _starts(parsed: Any) -> Iterator[str]:
    """Yield texts that match each prefix of *parsed*."""
    text = ""
    yield text
    for operation, argument in parsed:
        inner = _inner(operation, argument)
        for branch in inner:
            for start in itertools.islice(_starts(branch), 12):
                yield text + start
        text += _example(operation, argument)
        yield text


def _tokens(parsed: Any) -> Iterator[str]:
    """Yield texts that match the parts of *parsed*."""
    whole = "".join(_example(*item) for item in parsed)
    if whole:
        yield whole
    for operation, argument in parsed:
        if example := _example(operation, argument):
            yield example
        for branch in _inner(operation, argument):
            yield from _tokens(branch)


def _inner(operation: Any, argument: Any) -> list[Any]:
    """Return the patterns inside a part of a pattern."""
    match str(operation):
        case "BRANCH":
            return list(argument[1])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [argument[2]]
        case "SUBPATTERN":
            return [argument[3]]
        case "ATOMIC_GROUP":
            return [argument]
        case "ASSERT":
            return [argument[1]]
    return []


def _example(operation: Any, argument: Any) -> str:  # noqa: PLR0911 - one for each sort of part
    """Return a short text that matches a part of a pattern."""
    match str(operation):
        case "LITERAL":
            return chr(argument)
        case "NOT_LITERAL":
            return "a" if argument != ord("a") else "b"
        case "ANY":
            return "a"
        case "IN":
            return _sign(argument)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return "".join(_example(*item) for item in argument[2]) * max(1, min(int(argument[0]), 4))
        case "BRANCH" | "SUBPATTERN" | "ATOMIC_GROUP":
            return "".join(_example(*item) for item in _inner(operation, argument)[0])
    return ""


def _sign(members: Any) -> str:
    """Return a character of a class."""
    pattern = re.compile(_class(members))
    return next((sign for sign in (*SIGNS, *map(chr, range(0x250))) if pattern.match(sign)), "a")


def _class(members: Any) -> str:
    parts = []
    for operation, argument in members:
        match str(operation):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(re.escape(chr(argument)))
            case "RANGE":
                parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
            case "CATEGORY":
                word = str(argument).removeprefix("CATEGORY_")
                letter = {"SPACE": "s", "DIGIT": "d", "WORD": "w"}[word.removeprefix("NOT_")]
                parts.append("\\" + (letter.upper() if word.startswith("NOT_") else letter))
    return f"[{''.join(parts)}]"
