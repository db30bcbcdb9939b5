"""Reads the rules of a robots.txt: which URLs a crawler may fetch, and the line that says so.

Specs: https://www.rfc-editor.org/rfc/rfc9309 and
https://developers.google.com/crawling/docs/robots-txt/robots-txt-spec

A crawl obeys Protego, which returns a decision for one URL. Rules as patterns, with
their lines, are for columns of URLs; tests compare both. URLs have to be canonical keys
(:func:`~sitemap_harvest.urls.url_key`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_RULES_BYTES = 512 * 1024
"""Bytes of a robots.txt that count: the specification requires 500 KiB, and Google reads no more."""
ANY = "[^#]*"
"""The expression of a wildcard in a pattern."""
_NAMES = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    "allow": "allow",
    **dict.fromkeys(("sitemap", "sitemaps", "site-map", "host"), "site"),  # about the site, so outside of groups
    **dict.fromkeys(
        ("crawl-delay", "crawl delay", "request-rate", "request rate", "visit-time", "visit time"), "other"
    ),
}
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_ESCAPES_KEPT = frozenset({b"2F", b"25", b"2A"})  # "/", "%" and "*", which have a meaning unescaped
_PART = re.compile(r"%[0-9A-F]{2}|.", re.DOTALL)
_UNESCAPED = {f"%{ord(one):02X}": one for one in "!$&'()*+,;:@?="}  # may be in a key with or without an escape
_ALLOWED_ALWAYS = r"/robots\.txt(?:[?#]|$)"


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """A rule for one crawler."""

    is_allowed: bool
    pattern: str
    """An RE2 expression without anchor, which matches from the path of a canonical key on."""
    line: int
    """Line in the robots.txt, from 1."""
    text: str
    """The line without comment."""


def bounded(body: bytes) -> bytes:
    """Return the part of a robots.txt whose rules count, without the line that the limit cuts."""
    return body if len(body) <= MAX_RULES_BYTES else body[:MAX_RULES_BYTES].rpartition(b"\n")[0]


def rules_text(blocks: Iterable[bytes]) -> str:
    """Return the text of the robots.txt in *blocks*, which are UTF-8, as far as its rules count."""
    body = b""
    for block in blocks:
        body += block
        if len(body) > MAX_RULES_BYTES:
            break
    return bounded(body).decode("utf-8", "ignore")


def rules_of(text: str, agent: str) -> list[RobotsRule]:
    """Return the rules of a robots.txt for the crawler *agent*; of those that match a URL, the first one applies.

    *agent* is its product token; ``*`` is any crawler that no group names. No rule: it
    may fetch everything.
    """
    found: list[tuple[int, bool, RobotsRule]] = []
    for number, line, is_allowed, value in _lines_for(text, agent.lower()):
        for pattern in _patterns(value, is_allowed=is_allowed):
            rule = RobotsRule(is_allowed, _expression(pattern), number, line)
            found.append((len(pattern), is_allowed, rule))
    found.sort(key=lambda one: one[:2], reverse=True)  # the longest pattern applies, and of equals the one that allows
    if all(is_allowed for _, is_allowed, _ in found):
        return []
    rules = [RobotsRule(is_allowed=True, pattern=_ALLOWED_ALWAYS, line=0, text=""), *(rule for *_, rule in found)]
    return [*{rule.pattern: rule for rule in reversed(rules)}.values()][::-1]  # without those that never apply


def _lines_for(text: str, agent: str) -> list[tuple[int, str, bool, str]]:
    """Return the rules in all groups for *agent*: line number, line, whether it allows, and pattern as written."""
    groups: dict[str, list[tuple[int, str, bool, str]]] = {}  # those that fit, a few
    current: list[str] = []
    previous = "agent"
    for number, line, name, value in _directives(text):
        if name == "agent" and previous != "agent":
            current = []
        if name != "site":
            previous = name
        if name == "agent" and value:
            for one in _agents(value):
                if _score(one, agent) and one not in current:
                    groups.setdefault(one, [])
                    current.append(one)
        elif name in {"allow", "disallow"} and value:  # an empty pattern matches nothing
            for one in current:
                groups[one].append((number, line, name == "allow", value))
    best = max(groups, key=lambda one: _score(one, agent), default=None)
    return [] if best is None else groups[best]


def _directives(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield number, text, name and value of each line that is a directive, with a known name or not."""
    for number, whole in enumerate(text.splitlines(), start=1):
        line = whole.partition("#")[0].strip()
        field, colon, rest = line.partition(":")
        name = _NAMES.get(field.strip().lower()) if colon else None
        value = rest.strip()
        if name is None and not (colon and (not rest or rest[0].isspace())):  # perhaps separated by whitespace
            words = line.split()
            for count in (1, 2):
                if name is None and (name := _NAMES.get(" ".join(words[:count]).lower())):
                    value = " ".join(words[count:])
        if name or colon:
            yield number, line, name or "other", value


def _agents(value: str) -> list[str]:
    """Return the names in a ``User-agent`` line. Asterisks within a name have no meaning."""
    name = value.lower()
    return [name] if name == "*" or "*" not in name else [one for one in (name, name.replace("*", "")) if one]


def _score(name: str, agent: str) -> int:
    """Return how well the group *name* fits *agent*; 0: not at all."""
    if name == "*":
        return 1
    place = agent.find(name)
    while place > 0 and (agent[place - 1].isalnum() or agent[place - 1] in "-_"):  # within a word
        place = agent.find(name, place + 1)
    return len(name) if place >= 0 else 0


def _patterns(value: str, *, is_allowed: bool) -> Iterator[str]:
    """Yield the normalized patterns that *value*, the pattern of a rule as written, means."""
    if "$" in value:  # also as a plain character
        yield from _patterns(value.replace("$", "%24"), is_allowed=is_allowed)
    if value.startswith(("https://", "http://")):
        value = f"/{value}"
    pattern = _normalized(value.removesuffix("$")) + "$" * value.endswith("$")
    yield pattern
    if is_allowed and pattern.endswith("/index.html"):
        yield pattern.removesuffix("index.html") + "$"


def _normalized(value: str) -> str:
    """Return *value* with the same percent-encoding for the same characters."""

    def unescaped(match: re.Match[bytes]) -> bytes:
        code = match[1].upper()
        return b"%" + code if code in _ESCAPES_KEPT else bytes.fromhex(code.decode())

    return quote(_ESCAPE.sub(unescaped, value.encode("utf-8", "surrogatepass")), safe="/%*=")


def _expression(pattern: str) -> str:
    """Return the RE2 expression for a normalized *pattern* over canonical keys."""
    is_anchored = pattern.endswith("$")
    pattern = re.sub(r"\*\*+", "*", pattern.removesuffix("$"))
    if not is_anchored:
        pattern = pattern.removesuffix("*")
    return "".join(map(_atom, _PART.findall(pattern))) + (r"(?:#|$)" if is_anchored else "")


def _atom(part: str) -> str:
    if part == "*":
        return ANY
    if part == "%":
        return "%(?:25)?"  # no escape, as in "100%"; a key has it escaped
    part = "%3D" if part == "=" else part
    if (plain := _UNESCAPED.get(part)) is not None:
        return f"(?:{re.escape(plain)}|{part})"
    return re.escape(part)
