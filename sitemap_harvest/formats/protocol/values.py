"""Checks the values of the protocol's elements against the types of its schemas.

Specs: https://www.w3.org/TR/xmlschema-2/ (anyURI, date, dateTime, decimal),
https://www.rfc-editor.org/rfc/rfc3986, https://www.w3.org/TR/NOTE-datetime. Each
function takes the text of an element and returns the code of its problem, ``None`` if
there is none. If reading reports the problem too, the code is the same.
"""

from __future__ import annotations

import re
from calendar import monthrange
from decimal import Decimal

from sitemap_harvest.dates import read_date
from sitemap_harvest.formats.caches import cached
from sitemap_harvest.formats.columns import read_priority
from sitemap_harvest.urls import BLANKS, resolve

_CHANGEFREQS = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_LEAST_LOC_CHARS, _MOST_LOC_CHARS = 12, 2_048
_XML_BLANKS = " \t\r\n"
_NOTED_ON_READING = {"loc/control-character", "loc/template", "loc/whitespace"}
_XML_BLANK_RUN = re.compile("[ \t\r\n]+")

_PLAIN_LOC = re.compile(r"https?://[a-z0-9.\-]++/[A-Za-z0-9\-._~!$&'()*+,;=:@/]*+")
_MARKS = r"A-Za-z0-9\-._~!$&'()*+,;="
_ESCAPE = "%[0-9A-Fa-f]{2}"
_CHAR = rf"(?:[{_MARKS}:@]|{_ESCAPE})"
_AUTHORITY = rf"(?:(?:[{_MARKS}:]|{_ESCAPE})*+@)?+(?:\[[^\]]*+\]|(?:[{_MARKS}]|{_ESCAPE})*+)(?::(?P<port>[0-9]++))?+"
_PATH = rf"(?://{_AUTHORITY}(?:/{_CHAR}*+)*+|/(?:{_CHAR}++(?:/{_CHAR}*+)*+)?+|"
_REST = rf"(?:\?(?:{_CHAR}|[/?])*+)?+(?:\#(?:{_CHAR}|[/?\[\]])*+)?+"
_ABSOLUTE = re.compile(rf"[A-Za-z][A-Za-z0-9+\-.]*+:{_PATH}{_CHAR}++(?:/{_CHAR}*+)*+|){_REST}")
_RELATIVE = re.compile(rf"{_PATH}(?:[{_MARKS}@]|{_ESCAPE})++(?:/{_CHAR}*+)*+|){_REST}")
_ESCAPED_FOR = {ord(character): "_" for character in ' <>"{}|\\^`'}  # anyURI: these characters must be escaped
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")
_MOST_PORT = 2**31 - 1  # the limit of libxml2; no port is greater

_SCHEMA_DATE = re.compile(
    r"(?P<year>-?(?:[1-9][0-9]{4,15}|[0-9]{4}))-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]+))?)?"
    r"(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def loc(text: str) -> str | None:
    """Return the problem with the text of a ``<loc>``."""
    value = _collapsed(text)
    if len(value) < _LEAST_LOC_CHARS:
        return "protocol/loc-too-short" if value.strip(BLANKS) else "loc/empty"
    if len(value) > _MOST_LOC_CHARS:
        return "protocol/loc-too-long"
    if _PLAIN_LOC.fullmatch(value) or _is_uri(value):
        return None
    flaw = resolve(text, None).flaw
    return flaw if flaw in _NOTED_ON_READING else "protocol/loc-not-a-uri"


def _is_uri(value: str) -> bool:
    """Whether *value* is an ``xsd:anyURI``: a URI after escaping."""
    escaped = _NOT_ASCII.sub("_", value.translate(_ESCAPED_FOR))
    if not (match := _ABSOLUTE.fullmatch(escaped) or _RELATIVE.fullmatch(escaped)):
        return False
    port = (match["port"] or "").lstrip("0")
    return len(port) <= 10 and int(port or 0) <= _MOST_PORT


@cached
def lastmod(text: str) -> str | None:
    """Return the problem with the text of a ``<lastmod>``."""
    value = text.strip(_XML_BLANKS)
    if _is_schema_date(value):
        return None
    trimmed = value.strip(BLANKS)
    if _is_schema_date(trimmed):
        return "protocol/whitespace-around"
    if (read := read_date(trimmed)) is None:
        return "lastmod/unreadable"
    return "protocol/lastmod-schema" if read.is_w3c else "lastmod/not-w3c"


def _is_schema_date(value: str) -> bool:
    """Whether *value* is an ``xsd:date`` or an ``xsd:dateTime``."""
    if not (match := _SCHEMA_DATE.fullmatch(value)):
        return False
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if not year or not 1 <= month <= 12 or not 1 <= day <= monthrange(2000 + year % 400, month)[1]:
        return False
    hour = int(match["hour"] or 0)
    is_midnight = (
        not int(match["minute"] or 0) and not int(match["second"] or 0) and not (match["fraction"] or "").strip("0")
    )
    return hour < 24 or (hour == 24 and is_midnight)


def changefreq(text: str) -> str | None:
    """Return the problem with the text of a ``<changefreq>``."""
    if text in _CHANGEFREQS:
        return None
    return "protocol/whitespace-around" if text.strip(BLANKS) in _CHANGEFREQS else "changefreq/unknown"


@cached
def priority(text: str) -> str | None:
    """Return the problem with the text of a ``<priority>``."""
    value = text.strip(_XML_BLANKS)
    if _DECIMAL.fullmatch(value) and 0 <= Decimal(value) <= 1:
        return None
    return "priority/unreadable" if read_priority(value.strip(BLANKS)) is None else "protocol/whitespace-around"


def _collapsed(text: str) -> str:
    return _XML_BLANK_RUN.sub(" ", text).strip(" ")
