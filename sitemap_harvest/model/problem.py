"""What is wrong with a document, as data."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SAMPLES = 5  # enough to see the pattern; ten thousand would drown the record
MAX_EXCERPT_CHARS = 200  # a URL worth looking at fits; a megabyte of garbage does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One place where a problem occurs."""

    entry: int | None = None
    """Position of the entry in the document, from 1."""
    line: int | None = None
    """Line of the document after unpacking and decoding, from 1."""
    byte: int | None = None
    """Offset in bytes, from 0: in the unpacked document, or in the packed one for a fault of the packing."""
    excerpt: str | None = None
    """What stands there, cut to 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One kind of flaw in one document: equal ones are one record with a count and up to five samples."""

    code: str
    """Stable name, such as ``xml/truncated``; a key of :data:`CATALOGUE`."""
    document: str
    """Address of the document."""
    detail: str
    """The first occurrence in words."""
    count: int = 1
    """How often it occurs."""
    samples: tuple[Sample, ...] = ()
    """The first five places."""


CATALOGUE: dict[str, str] = {
    "changefreq/unknown": "The change frequency is no word of the protocol; it is kept as published.",
    "document/binary": "The document is a picture, an archive, a program: nothing that is text.",
    "document/bloated": "So much stands in the document without an entry that it was read no further.",
    "document/challenge": "A firewall asks for a proof that no robot is at work, or refuses; this is not the document.",
    "document/empty": "The document has no bytes, or blanks only.",
    "document/no-entries": "The document is of a kind that lists URLs, and lists none.",
    "document/not-a-sitemap": "The document is of a kind that lists no URLs.",
    "document/soft-404": "The server answers with a page that says that there is no such page.",
    "document/too-many-urls": "The document has more URLs than the limit; those past it were not read.",
    "document/viewer": "A browser has wrapped the document in a page of its own; what is inside was read.",
    "encoding/bad-bytes": "Some bytes are not valid in the document's encoding; they were read as windows-1252.",
    "encoding/cut-character": "The document ends within a character, so it was cut there.",
    "encoding/lies": "The encoding that the document declares is not the one that its bytes have.",
    "encoding/unknown": "The document declares an encoding that does not exist.",
    "feed/no-link": "An entry of the feed has no link, so it lists no URL.",
    "html/off-site": "A link leads to another site, so there is no entry for it.",
    "html/too-deep": "Elements are nested deeper than any page needs; what comes after was not read.",
    "html/truncated": "The page ends without its end tag, so it may have been cut; a link that was cut is left out.",
    "json/control-character": "A control character stands in a text, where JSON wants an escape; it was left there.",
    "json/lone-surrogate": "A text has half of a character, by an escape such as \\ud800; it was left as it stands.",
    "json/malformed": "The JSON is not well-formed here; the item was left out, and reading went on at the next one.",
    "json/repeated-name": "An item has a name twice; the last counts, the other is in extra.",
    "json/truncated": "The document ends before its JSON does; an item that was cut is left out.",
    "lastmod/no-zone": "A time has no zone; it was read as UTC.",
    "lastmod/not-w3c": "The date was read, but is not in the form that the protocol asks for.",
    "lastmod/unreadable": "The date is none that can be read without guessing.",
    "loc/empty": "An entry has no URL.",
    "loc/malformed": "The URL cannot be taken apart; it is kept as published and was not made absolute.",
    "loc/markup": "There is an element inside the URL; its text was read as part of the URL.",
    "loc/no-element": "The URL stands in the entry itself, without an element of its own; it was read.",
    "loc/not-a-url": "The text is no URL of a page, so there is no entry for it.",
    "loc/outside-entry": "A URL stands outside any entry; it was read as an entry of its own.",
    "loc/relative": "The URL is relative; it was made absolute against the document's address.",
    "loc/repeated": "One entry holds several URLs; each has become an entry of its own.",
    "loc/scheme": "The scheme of the URL is neither http nor https.",
    "loc/whitespace": "There is white space, or a character that shows as nothing, inside the URL; it was left there.",
    "priority/unreadable": "The priority is no number from 0 to 1.",
    "robots/bad-directive": "A Sitemap directive is not written as the protocol has it; what is meant was read.",
    "robots/no-directive": 'A line is the address of a sitemap without "Sitemap:" before it; it was read as one.',
    "robots/not-a-url": "A Sitemap line holds no address that can be fetched.",
    "text/beside-url": "Something stands beside the URL on its line; the URL was read without it.",
    "text/line-too-long": "A line has more than a million characters; it is left out.",
    "text/no-scheme": "A line is an address without a scheme, which could mean two things; it is left out.",
    "text/not-a-url": "A line is no URL.",
    "text/truncated": "The document ends early, and its last line with it; that line is left out.",
    "unpack/bad-checksum": "The packed data does not match its own checksum.",
    "unpack/ratio": "The document grew by more than the allowed ratio while being unpacked; it was cut off.",
    "unpack/several-files": "The archive holds several files; only the first was read.",
    "unpack/too-deep": "The document is packed in more layers than the limit.",
    "unpack/too-large": "The document grew past the allowed size while being unpacked; it was cut off.",
    "unpack/trailing-bytes": "Bytes that are not packed data follow the packed data.",
    "unpack/truncated": "The packed data ends early.",
    "unpack/unreadable": "The packed data is damaged.",
    "xml/bad-declaration": "The XML declaration is not well-formed; it was passed over.",
    "xml/bare-ampersand": "A bare & stands in the text; it was read as it stands.",
    "xml/bare-less-than": "A bare < stands in the text; it was read as it stands.",
    "xml/control-character": "A control character that XML forbids stands in the text; it was left as it stands.",
    "xml/doctype": "The document has a DOCTYPE; its entities are not expanded and nothing is fetched.",
    "xml/entity-not-expanded": "A value uses an entity that the document declares; it is not expanded, but left out.",
    "xml/entry-outside": "An entry stands outside the document's root element.",
    "xml/extension-outside": "An image, an alternate or the like stands outside any entry; it was passed over.",
    "xml/foreign-entry": "A <url> stands in an index, or a <sitemap> in a sitemap.",
    "xml/junk-after": "Something follows the end of the document.",
    "xml/junk-before": "Something stands before the document.",
    "xml/malformed": "The XML is not well-formed here; reading went on at the next element.",
    "xml/not-well-formed": "The document is no well-formed XML; it was mended, as other problems tell.",
    "xml/nested-entry": "An entry stands inside another one; each was read.",
    "xml/repeated-field": "An entry has a value twice; the first counts, the other is in extra.",
    "xml/stray-text": "Text stands where only elements belong; it was passed over.",
    "xml/bad-attributes": "The attributes of a tag are not well-formed; of them, what can be told apart was read.",
    "xml/truncated": "The document ends before its root element does; an entry that was cut is left out.",
    "xml/undeclared-prefix": "A prefix is not declared; it was taken to mean what it usually does.",
    "xml/unlike-tags": "A start tag and its end tag differ in letter case or prefix; they were taken for a pair.",
    "xml/unclosed-entry": "An entry is not closed before the next one begins.",
    "xml/unknown-entity": "The text uses an entity that XML does not know; it was left as it stands.",
}
"""Every code a problem can have, with its meaning in one sentence."""
