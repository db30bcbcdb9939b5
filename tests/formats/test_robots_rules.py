"""The rules of a robots.txt: the same decisions as Protego's, and the line of each rule."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protego import Protego

from sitemap_harvest.formats.robots_rules import MAX_RULES_BYTES, RobotsRule, rules_of, rules_text
from sitemap_harvest.urls import url_key

SITE = "https://a.example"
AGENTS = ("Googlebot", "Bingbot", "*")


def decision(text: str, path: str, agent: str = "*") -> RobotsRule | None:
    """Return the rule that applies to *path*; ``None`` if none does."""
    key = url_key(SITE + path)
    assert key is not None
    path = key.removeprefix(SITE)
    return next((rule for rule in rules_of(text, agent) if re.match(rule.pattern, path)), None)


NAMES = st.sampled_from([
    "User-agent:", "User-Agent :", "useragent", "User agent", "Disallow:", "disallow", "Dissallow :", "Allow:",
    "ALLOW:", "Sitemap:", "Host:", "Crawl-delay:", "Noindex:", "Request rate", "Foo", "# Disallow:", "",
])  # fmt: skip
CRAWLERS = st.sampled_from([
    "*", "Googlebot", "googlebot ", "bingbot", "Bing*", "google", "bot", "Googlebot-News", "googlebot/2.1", "x", ""
])  # fmt: skip
PIECES = st.sampled_from([  # without hexadecimal digits after "*", which match within an escape with Protego
    "/", "s", "t", "S", "*", "**", "$", "?", "=", "&", "%20", "%2f", "%2F", "%53", "%3D", "%3f", "%C3%A9", "é", ".",
    ";", "index.html", " ", ":", "+", "%2A", "%24", "%25", "~", "https://s.example/", "#",
])  # fmt: skip
PATTERNS = st.lists(PIECES, max_size=5).map("".join)
LINES = st.tuples(NAMES, CRAWLERS | PATTERNS | PATTERNS.map("/{}".format)).map(" ".join)
GROUPS = st.tuples(
    st.lists(CRAWLERS.map("User-agent: {}".format), min_size=1, max_size=2),
    st.lists(st.tuples(st.sampled_from(["Disallow: /", "Allow: /", "Disallow: "]), PATTERNS).map("".join), max_size=4),
).map(lambda group: "\n".join(group[0] + group[1]))
TEXTS = st.lists(GROUPS | LINES, max_size=5).map("\n".join)
URLS = st.lists(PIECES, max_size=6).map(lambda pieces: "/" + "".join(pieces))


@given(TEXTS, st.lists(URLS, min_size=1, max_size=5))
@example("User-agent: *\nDisallow: /a\nAllow: /a", ["/a"])
@example("User-agent: *\nDisallow: /*?\nAllow: /a$", ["/a", "/a?", "/a?b#c"])
@example("User-agent: Googlebot\nUser-agent: *\nDisallow: /a*b$\n\nUser-agent: google\nAllow: /", ["/aab", "/ab/"])
@example("User-agent: *\nDisallow: /", ["/robots.txt", "/robots.txt?a", "/robots.txtx", "/a/robots.txt"])
@example("User-agent: *\nDisallow: /\nAllow: /index.html", ["/", "/index.html", "/a"])
@example("User-agent: *\nDisallow: a$b\nDisallow: /a$b\nDisallow: /c$", ["/a$b", "/a", "/c$", "/c"])
def test_decisions_are_those_of_protego(text: str, paths: list[str]) -> None:
    protego = Protego.parse(text)
    for agent in AGENTS:
        for path in paths:
            rule = decision(text, path, agent)
            key = url_key(SITE + path)
            assert key is not None
            assert (rule is None or rule.is_allowed) == protego.can_fetch(key, agent), (agent, path)


ROBOTS = """\
# Rules of a shop
User-agent: Googlebot
Disallow: /cart      # nothing to see
Allow: /cart/help

User-agent: *
Disallow: /cart
Disallow: /*?sort=
"""


@pytest.mark.parametrize(
    ("path", "agent", "line", "text"),
    [
        pytest.param("/cart/1", "Googlebot", 3, "Disallow: /cart", id="group of the crawler"),
        pytest.param("/cart/help", "Googlebot", 4, "Allow: /cart/help", id="the longest"),
        pytest.param("/cart/help", "Bingbot", 7, "Disallow: /cart", id="group of others"),
        pytest.param("/a?sort=price", "*", 8, "Disallow: /*?sort=", id="wildcard"),
    ],
)
def test_the_rule_that_applies(path: str, agent: str, line: int, text: str) -> None:
    rule = decision(ROBOTS, path, agent)
    assert rule is not None
    assert (rule.line, rule.text) == (line, text)


@pytest.mark.parametrize(("path", "agent"), [("/a?sort=price", "Googlebot"), ("/", "*")])
def test_no_rule_applies(path: str, agent: str) -> None:
    assert decision(ROBOTS, path, agent) is None


def test_rules_that_only_allow_are_left_out() -> None:
    assert rules_of("User-agent: *\nAllow: /a\nDisallow:", "*") == []


def test_rules_beyond_the_limit_are_left_out() -> None:
    line = b"Disallow: /private\n"
    blocks = [b"User-agent: *\n", *[line * 1000] * 100]
    text = rules_text(blocks)
    assert MAX_RULES_BYTES - len(line) <= len(text) <= MAX_RULES_BYTES
    assert text.splitlines()[-1] == line.decode().rstrip()
