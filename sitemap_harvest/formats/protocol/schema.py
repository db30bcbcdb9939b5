"""Checks a sitemap or an index against the protocol's schemas: its elements and their values.

Specs: https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd and siteindex.xsd, and
for values https://www.w3.org/TR/xmlschema-2/ (anyURI, date, dateTime, decimal),
https://www.rfc-editor.org/rfc/rfc3986 and https://www.w3.org/TR/NOTE-datetime. The
rules are tables in this module; a test compares them with the schemas. The contents of
extension elements are not checked.
"""

from __future__ import annotations

import re
from calendar import monthrange
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lxml import etree

from sitemap_harvest.dates import read_date
from sitemap_harvest.formats.columns import read_priority
from sitemap_harvest.formats.xml.entries import split
from sitemap_harvest.formats.xml.strict import NotWellFormed, grow
from sitemap_harvest.model import CHANGEFREQS, Kind
from sitemap_harvest.urls import WHITESPACE, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sitemap_harvest.formats.problem_log import ProblemLog

_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
_ALLOWED_ATTRIBUTES = {_XSI + "schemaLocation", _XSI + "noNamespaceSchemaLocation"}
_XML_WHITESPACE = " \t\r\n"
_LEAST_LOC_CHARS, _MOST_LOC_CHARS = 12, 2_048
_NOTED_ON_READING = {"loc/control-character", "loc/template", "loc/whitespace"}
_XML_WHITESPACE_RUN = re.compile("[ \t\r\n]+")

_PLAIN_LOC = re.compile(r"https?://[a-z0-9.\-]++/[A-Za-z0-9\-._~!$&'()*+,;=:@/]*+")
_ANY_URI = etree.XMLSchema(
    etree.XML('<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="loc" type="anyURI"/></schema>')
)

_SCHEMA_DATE = re.compile(
    r"(-?(?:[1-9][0-9]{4,15}|[0-9]{4}))-(0[1-9]|1[0-2])-([0-9]{2})"
    r"(?:T(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?))?"
    r"(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


REPORTED = ""
"""In place of a code: a flaw that reading reports, so that it is not reported again."""


def check_structure(blocks: Iterator[bytes], kind: Kind, log: ProblemLog, *, is_cut: bool = False) -> bool:
    """Check the sitemap or index in *blocks* of UTF-8 against its schema; return whether it is valid.

    *is_cut*: whether it is not well-formed only because its end was not read.
    """
    shape = None
    try:
        for root, count in grow(blocks):
            shape = shape or _Shape(kind, root, log)
            shape.take(root, count)
        if shape:
            shape.take_text(root)
    except NotWellFormed as reason:
        if not (is_cut and reason.is_flaw):
            log.add("protocol/not-checked", str(reason), line=reason.line)
        return False
    return shape is not None and shape.is_valid and shape.entries > 0


class _Shape:
    """Checks the children of one root, in document order."""

    def __init__(self, kind: Kind, root: Any, log: ProblemLog) -> None:
        self.is_valid = True
        """Whether no flaw was found so far, whether reading reports it or not."""
        self.entries = 0
        self._log = log
        name, entry, fields = _SHAPES[kind]
        namespace, local = split(root.tag)
        self._own = f"{{{namespace}}}" if namespace else ""
        self._entry_tag = self._own + entry
        self._fields = [(self._own + field, check) for field, check in fields.items()]
        self._order = {tag: number for number, (tag, _) in enumerate(self._fields)}
        self._entry_tags = {self._own + "url", self._own + "sitemap"}
        if namespace != _NAMESPACE:
            detail = f"the root is in the namespace {namespace}" if namespace else "the root has no namespace"
            self._tell("protocol/namespace", root, detail=detail)
        if local != name:
            self._tell("protocol/root-name", root, detail=f"the root element is {local} instead of {name}")
        self._attributes(root)

    def take(self, root: Any, count: int) -> None:
        """Check the first *count* children of *root*, and the text before them."""
        if count:
            self.take_text(root)
        for child in root[:count]:
            self._child(child)

    def take_text(self, root: Any) -> None:
        """Check the text at the start of *root*, once."""
        self._text(root.text, root, "protocol/stray-text")
        root.text = None

    def _child(self, child: Any) -> None:
        if child.tag == self._entry_tag:
            self.entries += 1
            self._entry(child)
        elif not self._is_foreign(child):
            is_read = child.tag in self._entry_tags or child.tag == self._own + "loc"
            self._tell(REPORTED if is_read else "protocol/unknown-element", child)
        elif self.entries:
            detail = "an element of another namespace follows an entry"
            self._tell("protocol/element-order", child, detail=detail)
        self._text(child.tail, child)

    def _entry(self, entry: Any) -> None:
        self._attributes(entry)
        stray = entry.text
        seen, last, has_unknown, is_disordered = 0, -1, False, False
        for child in entry:
            order = self._order.get(child.tag)
            if order is not None:
                if seen >> order & 1:
                    self._tell(REPORTED, child)
                elif order < last and not is_disordered:
                    is_disordered = True
                    self._tell("protocol/element-order", child, detail=f"{split(child.tag)[1]} is out of order")
                seen |= 1 << order
                last = max(last, order)
                self._value(child, *self._fields[order])
            elif self._is_foreign(child):
                last = len(self._fields)
            else:
                has_unknown = True
                self._tell(REPORTED if child.tag in self._entry_tags else "protocol/unknown-element", child)
            if (tail := child.tail) and tail.strip(_XML_WHITESPACE):
                stray = tail
        if not seen & 1 and not has_unknown:
            self._tell(REPORTED, entry)
        else:
            self._text(stray, entry)

    def _value(self, element: Any, tag: str, check: Callable[[str], str | None]) -> None:
        if len(element):
            self._tell(REPORTED if tag.endswith("loc") else "protocol/unknown-element", element[0])
        elif (code := check(element.text or "")) is not None:
            self._tell(code, element, element.text)
        self._attributes(element)

    def _attributes(self, element: Any) -> None:
        for name in element.keys():  # noqa: SIM118 - lxml's element is not a dictionary
            if name not in _ALLOWED_ATTRIBUTES:
                self._tell("protocol/attribute", element, f'{name}="{element.get(name)}"')

    def _text(self, text: str | None, element: Any, code: str = REPORTED) -> None:
        if text and (found := text.strip(_XML_WHITESPACE)):
            self._tell(code if found.strip(WHITESPACE) else "protocol/whitespace-around", element, found)

    def _is_foreign(self, element: Any) -> bool:
        """Whether *element* is in another namespace, so belongs to an extension."""
        namespace = split(element.tag)[0]
        return bool(namespace) and namespace != _NAMESPACE and not (self._own and element.tag.startswith(self._own))

    def _tell(self, code: str, element: Any, excerpt: str | None = None, detail: str | None = None) -> None:
        """Record the problem *code* at *element*; the default *excerpt* is its name."""
        self.is_valid = False
        if code != REPORTED:
            excerpt = str(element.tag).removeprefix(self._own) if excerpt is None else excerpt
            self._log.add(code, detail, entry=self.entries or None, line=element.sourceline, excerpt=excerpt)


def check_loc(text: str) -> str | None:
    """Return the problem with the text of a ``<loc>``."""
    value = _XML_WHITESPACE_RUN.sub(" ", text).strip(" ")
    if len(value) < _LEAST_LOC_CHARS:
        return "protocol/loc-too-short" if value.strip(WHITESPACE) else REPORTED
    if len(value) > _MOST_LOC_CHARS:
        return "protocol/loc-too-long"
    if _PLAIN_LOC.fullmatch(value) or _is_uri(value):
        return None
    return REPORTED if resolve(text, None).flaw in _NOTED_ON_READING else "protocol/loc-not-a-uri"


def _is_uri(value: str) -> bool:
    """Whether *value* is an ``xsd:anyURI``: a URI after escaping."""
    loc = etree.Element("loc")
    loc.text = value
    return _ANY_URI.validate(loc)


def check_lastmod(text: str) -> str | None:
    """Return the problem with the text of a ``<lastmod>``."""
    value = text.strip(_XML_WHITESPACE)
    if _is_schema_date(value):
        return None
    trimmed = value.strip(WHITESPACE)
    if _is_schema_date(trimmed):
        return "protocol/whitespace-around"
    read = read_date(trimmed)
    return "protocol/lastmod-schema" if read and read.is_w3c else REPORTED


def _is_schema_date(value: str) -> bool:
    """Whether *value* is an ``xsd:date`` or an ``xsd:dateTime``."""
    if not (match := _SCHEMA_DATE.fullmatch(value)):
        return False
    year, month, day = map(int, match.groups())
    return year != 0 and 1 <= day <= monthrange(2000 + year % 400, month)[1]


def check_changefreq(text: str) -> str | None:
    """Return the problem with the text of a ``<changefreq>``."""
    if text in CHANGEFREQS:
        return None
    return "protocol/whitespace-around" if text.strip(WHITESPACE) in CHANGEFREQS else REPORTED


def check_priority(text: str) -> str | None:
    """Return the problem with the text of a ``<priority>``."""
    value = text.strip(_XML_WHITESPACE)
    if _DECIMAL.fullmatch(value) and 0 <= Decimal(value) <= 1:
        return None
    return REPORTED if read_priority(value.strip(WHITESPACE)) is None else "protocol/whitespace-around"


_URL: dict[str, Callable[[str], str | None]] = {
    "loc": check_loc,
    "lastmod": check_lastmod,
    "changefreq": check_changefreq,
    "priority": check_priority,
}
_SITEMAP: dict[str, Callable[[str], str | None]] = {"loc": check_loc, "lastmod": check_lastmod}
_SHAPES = {  # the root, its entries, and their children in order
    Kind.SITEMAP: ("urlset", "url", _URL),
    Kind.INDEX: ("sitemapindex", "sitemap", _SITEMAP),
}
