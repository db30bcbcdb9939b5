"""``Problem``: a flaw of a document; and the catalogue of the problem types, each with its meaning and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SAMPLES = 5  # enough to see the pattern; ten thousand would be too many for a record
MAX_EXCERPT_CHARS = 200  # enough for a URL, but not for a megabyte of garbage


class Severity(StrEnum):
    """How severe a problem is for the publisher of the document, the most severe first."""

    ERROR = "error"
    """Entries are lost, or search engines are likely to reject the document or the entry."""
    WARNING = "warning"
    """The document violates the rules, and readers interpret it differently."""
    NOTICE = "notice"
    """The document can be read without harm, but could be improved."""

    @property
    def rank(self) -> int:
        """The sort key: 0 for the most severe."""
        return list(Severity).index(self)


class Reliability(Enum):
    """Which entries of a document may differ from the published ones because of a problem."""

    NONE = auto()
    """None: the result is exactly what the document says."""
    REST = auto()
    """The entry with the problem, and all that follow."""
    RECOVERED = auto()
    """These, and the entry before, whose end tag may be too early; none if the XML is well-formed."""
    ALL = auto()
    """All entries, because it is unknown where the damage begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemType:
    """The description of one problem code."""

    meaning: str
    """The flaw and how the document was read, in one sentence."""
    cause: str
    """The usual cause."""
    consequence: str
    """What this package and other readers, above all search engines, make of the document."""
    fix: str
    """What the publisher of the document should do."""
    severity: Severity
    loses: bool = False
    """Whether entries may be missing from the result."""
    reliability: Reliability = Reliability.NONE
    """Which of the entries read may differ from the published ones."""
    google: str | None = None
    """What the Sitemaps report of Google Search Console calls it; ``None`` if it has no name of its own for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One place where a problem occurs."""

    entry: int | None = None
    """Position of the entry in the document, from 1."""
    line: int | None = None
    """Line of the document after decompression and decoding, from 1."""
    byte: int | None = None
    """Offset in bytes, from 0: in the decompressed document, or in the compressed one for a decompression error."""
    excerpt: str | None = None
    """The text there, truncated to 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One kind of flaw in one document: repeated flaws are one record with a count and up to five samples."""

    code: str
    """Stable name, such as ``xml/truncated``; a key of :data:`CATALOGUE`."""
    document: str
    """URL of the document."""
    detail: str
    """A description of the first occurrence."""
    count: int = 1
    """How often it occurs."""
    samples: tuple[Sample, ...] = ()
    """The first five places."""

    @property
    def severity(self) -> Severity:
        """How bad it is. A judgement that may change, so it is not a column."""
        return CATALOGUE[self.code].severity


_error = partial(ProblemType, severity=Severity.ERROR)
_recovered = partial(_error, reliability=Reliability.RECOVERED)
_loss = partial(_error, loses=True)
_cut = partial(_loss, reliability=Reliability.REST)
_warning = partial(ProblemType, severity=Severity.WARNING)
_notice = partial(ProblemType, severity=Severity.NOTICE)

CATALOGUE: Mapping[str, ProblemType] = {
    "changefreq/unknown": _notice(
        meaning="The change frequency is not a value that the protocol defines; it is stored as published.",
        cause="A capital letter, a translated word, or a custom value such as fortnightly.",
        consequence="Readers ignore the value. Google and Bing ignore all change frequencies anyway.",
        fix="Write always, hourly, daily, weekly, monthly, yearly or never in lower case, or omit the element.",
        google="Invalid tag value",
    ),
    "document/binary": _error(
        meaning="The document is an image, an archive, a program or another file that is not text.",
        cause="A wrong URL, a wrong file, or a file uploaded under the wrong name.",
        consequence="Nothing can be read. Search engines report an unsupported format.",
        fix="Serve the sitemap at this URL.",
        google="Unsupported format",
    ),
    "document/bloated": _cut(
        meaning="The document contains too much data without an entry; reading stopped here.",
        cause="Endlessly nested elements, or a file designed to exhaust its readers.",
        consequence="The rest is missing. Other readers may run out of memory.",
        fix="Inspect the file, and remove everything that is not an entry.",
    ),
    "document/challenge": _error(
        meaning="A firewall returned a challenge or a block page instead of the document.",
        cause="Bot protection that does not exempt sitemaps and feeds.",
        consequence="Nothing is read. Firewalls usually admit search engines, but not other readers.",
        fix="Exempt robots.txt, sitemaps and feeds in the settings of the firewall.",
    ),
    "document/empty": _error(
        meaning="The document is empty, or contains only whitespace.",
        cause="The generator failed after it had opened its file, or the server returned an empty page.",
        consequence="Nothing can be read. Search engines report an error.",
        fix="Check the log of the generator, and publish a new file only when it is complete.",
        google="Empty sitemap",
    ),
    "document/no-entries": _warning(
        meaning="The document is of a kind that lists URLs, but it lists none.",
        cause="A section without pages, a filter that matches nothing, or an unavailable database.",
        consequence="The document yields no URLs. Google reports an empty sitemap as an error.",
        fix="List at least one URL, or remove the document from the index and from robots.txt.",
        google="Empty sitemap",
    ),
    "document/not-a-sitemap": _error(
        meaning="The document is of a kind that does not list URLs.",
        cause="An error or login page with status 200, a wrong URL, or another type of file.",
        consequence="Nothing can be read. Search engines report an unsupported format.",
        fix="Serve the sitemap at this URL, or respond with status 404 if there is none.",
        google="Unsupported format",
    ),
    "document/nul-bytes": _cut(
        meaning="The document contains NUL bytes; part of its content is missing there.",
        cause="A file that was not written completely, a full disk, or a server crash.",
        consequence="The URLs at that position are missing. A strict XML parser rejects the whole document.",
        fix="Write the file again, and publish it only when it is complete.",
    ),
    "document/soft-404": _error(
        meaning='The server returned a page that says "not found" instead of the document.',
        cause='The server sends its "not found" page with status 200.',
        consequence="Nothing can be read. Search engines report an unsupported format.",
        fix="Respond with status 404, or serve the sitemap at this URL.",
        google="Unsupported format",
    ),
    "document/too-many-sitemaps": _loss(
        meaning="The document lists more sitemaps than the limit; the rest were not read.",
        cause="An index or robots.txt that a program keeps extending.",
        consequence="The rest are missing. The protocol allows 50,000 in an index, and search engines reject more.",
        fix="List the sitemaps in several indexes. To read more than 100,000, add -s SITEMAP_HARVEST_MAX_DOCUMENTS=N.",
    ),
    "document/too-many-urls": _loss(
        meaning="The document lists more URLs than the limit; the rest were not read.",
        cause="A single file for a large site.",
        consequence="The rest are missing. The protocol allows 50,000, and search engines reject more.",
        fix="Split the document into several sitemaps. To read the rest, add -s SITEMAP_HARVEST_MAX_URLS=N.",
    ),
    "document/viewer": _error(
        meaning="A browser wrapped the document in its own viewer page; the document inside was read.",
        cause="The browser's view of an XML file was saved instead of the file.",
        consequence="Other readers see a web page, not a sitemap.",
        fix="Publish the file itself.",
    ),
    "document/without-row": _warning(
        meaning="The document lists many documents that were not requested; most of them have no record.",
        cause="An index that lists more documents than the limit for a site, or documents that the settings exclude.",
        consequence="The first 1,000 have a record with the reason. The others are only counted.",
        fix="Raise the setting that the records name, or harvest only the sitemaps that you need.",
    ),
    "encoding/bad-bytes": _error(
        meaning="Some bytes are invalid in the encoding of the document; they were read as windows-1252.",
        cause="Text from several sources was combined without conversion.",
        consequence="Nearby URLs may be wrong. A strict XML parser rejects the whole document.",
        fix="Convert all text to UTF-8, and percent-encode URLs.",
        reliability=Reliability.REST,
    ),
    "encoding/cut-character": _loss(
        meaning="The document ends within a character, so it is truncated.",
        cause="An aborted transfer, or a file that was cut at a fixed number of bytes.",
        consequence="The rest is missing. A strict XML parser rejects the document.",
        fix="Publish the file only when it is complete.",
    ),
    "encoding/lies": _warning(
        meaning="The declared encoding of the document does not match its bytes.",
        cause="A first line copied from a different file, or a server that always sends the same charset.",
        consequence="The encoding was detected from the bytes. Other readers trust the declaration, and garble text.",
        fix='Write UTF-8 and declare it: <?xml version="1.0" encoding="UTF-8"?>.',
    ),
    "encoding/unknown": _error(
        meaning="The document declares an encoding that does not exist.",
        cause="An invalid name such as utf8mb4, or a template that was not rendered.",
        consequence="The encoding was detected from the bytes. A strict XML parser rejects the document.",
        fix='Declare encoding="UTF-8".',
    ),
    "feed/no-link": _warning(
        meaning="An item of the feed has no link, so it yields no URL.",
        cause="Notes without their own pages, or podcasts with only an enclosure.",
        consequence="Only the title of the item is known.",
        fix="Give each item a <link> to its page, or in Atom a <link href>.",
    ),
    "html/off-site": _notice(
        meaning="A link leads to another site, so it is not an entry.",
        cause="Partners, social networks, or pages on another host.",
        consequence="The link is ignored, because an HTML sitemap lists only its own site.",
        fix="If the page belongs to the site, link to its URL on that site. Otherwise, change nothing.",
    ),
    "html/too-deep": _cut(
        meaning="Elements are nested too deeply; the rest of the page was not read.",
        cause="Elements that are never closed, or a file designed to exhaust its readers.",
        consequence="All later links are missing.",
        fix="Close the elements.",
    ),
    "html/too-large": _cut(
        meaning="The page is too large for an HTML sitemap; the rest of it was not read.",
        cause="A file designed to exhaust its readers, or a page with embedded images.",
        consequence="All later links are missing.",
        fix="Split the page, or publish an XML sitemap.",
    ),
    "html/truncated": _cut(
        meaning="The page has no end tag, so it may be truncated; a partial link was left out.",
        cause="An aborted transfer, or a template that omits the end tag.",
        consequence="Links may be missing. Browsers still display the page.",
        fix="Publish the whole page, and end it with </html>.",
    ),
    "json/control-character": _error(
        meaning="A string contains a control character that JSON requires to be escaped; it was left unchanged.",
        cause="A line break or a tab was inserted without escaping it.",
        consequence="A strict JSON parser rejects the whole feed.",
        fix="Generate the feed with a JSON library instead of string concatenation.",
    ),
    "json/lone-surrogate": _warning(
        meaning="A string contains an escape for half a character, such as \\ud800; it was left unchanged.",
        cause="Text was truncated in the middle of a character, such as an emoji.",
        consequence="Some readers reject the text; others replace the escape with a question mark.",
        fix="Truncate text only between characters.",
    ),
    "json/malformed": _loss(
        meaning="The JSON is not well-formed here; the item was left out, and reading continued at the next one.",
        cause="An extra or missing comma or quote.",
        consequence="A strict JSON parser rejects the whole feed.",
        fix="Generate the feed with a JSON library instead of string concatenation.",
        reliability=Reliability.RECOVERED,
    ),
    "json/repeated-name": _warning(
        meaning="An item repeats a name; the last value is used, and the other is in extra.",
        cause="Two plugins add the same name.",
        consequence="Other readers may use the first value, or reject the feed.",
        fix="Write each name once.",
    ),
    "json/truncated": _cut(
        meaning="The document ends before the JSON is complete; a partial item was left out.",
        cause="An aborted transfer, or a generator that ran out of time or memory.",
        consequence="The rest is missing. A strict JSON parser rejects the whole feed.",
        fix="Publish the file only when it is complete.",
    ),
    "lastmod/no-zone": _notice(
        meaning="A time has no time zone; it was read as UTC.",
        cause="A time from a database was written without its time zone.",
        consequence="The instant may be off by up to 14 hours. The protocol requires a time zone after a time.",
        fix="Add Z or an offset, as in 2026-03-09T14:00:00+01:00, or omit the time.",
    ),
    "lastmod/not-w3c": _warning(
        meaning="The date was read, but is not in the format that the protocol requires.",
        cause="A date in the format of a feed or database, or with a space or nothing in place of the T.",
        consequence="Search engines may report an invalid date and ignore it.",
        fix="Write 2026-03-09 or 2026-03-09T14:00:00+01:00.",
        google="Invalid date",
    ),
    "lastmod/unreadable": _warning(
        meaning="The date has none of the forms that are read.",
        cause="A local format such as 09/03/2026, an empty element, 0000-00-00, or the name of a variable.",
        consequence="The entry has no date. Search engines ignore the value, and may stop trusting the other dates.",
        fix="Write 2026-03-09 or 2026-03-09T14:00:00+01:00, or leave the element out.",
        google="Invalid date",
    ),
    "limit/bytes": _loss(
        meaning="The site reached its limit of downloaded bytes, so the document was not requested.",
        cause="A site larger than the limit, or an endless series of sitemaps.",
        consequence="The URLs and documents that the document lists are missing.",
        fix="Raise the limit with -s SITEMAP_HARVEST_MAX_SITE_BYTES=N, or harvest only the sitemaps that you need.",
    ),
    "limit/depth": _loss(
        meaning="The document is too many levels below its root, so it was not requested.",
        cause="Usually an endless chain of indexes; few sites need so many levels.",
        consequence="All URLs that the document leads to are missing. Search engines read one level of indexes.",
        fix="List only sitemaps in the index, not other indexes.",
    ),
    "limit/documents": _loss(
        meaning="The site reached its limit of documents, so this one was not requested.",
        cause="A site larger than the limit, or an endless chain of indexes.",
        consequence="The URLs and documents that the document lists are missing.",
        fix="Raise the limit with -s SITEMAP_HARVEST_MAX_DOCUMENTS=N, or harvest only the sitemaps that you need.",
    ),
    "limit/seconds": _loss(
        meaning="The site reached its time limit, so the document was not requested.",
        cause="A server that responds slowly, or a site larger than the limit.",
        consequence="The URLs and documents that the document lists are missing.",
        fix="Raise the limit with -s SITEMAP_HARVEST_MAX_SITE_SECONDS=N, or harvest only the sitemaps that you need.",
    ),
    "limit/urls": _loss(
        meaning="The site reached its URL limit, so the document was read only in part or not at all.",
        cause="A site larger than the limit.",
        consequence="The remaining URLs are missing.",
        fix="Raise the limit with -s SITEMAP_HARVEST_MAX_SITE_URLS=N, or harvest only the sitemaps that you need.",
    ),
    "loc/control-character": _loss(
        meaning="The URL contains a control character, which no URL may contain; it was left out.",
        cause="An incompletely written file that is filled with NUL bytes, or pasted text.",
        consequence="The intended URL is missing. A strict XML parser rejects the whole document.",
        fix="Publish the file only when it is complete, and remove such characters where URLs are entered.",
    ),
    "loc/empty": _error(
        meaning="An entry has no URL.",
        cause="A page without a URL, such as a draft, or a field with another name.",
        consequence="The entry has no effect. Search engines report it as an error in the sitemap.",
        fix="Give each entry a <loc> with an absolute URL, or omit the entry.",
        google="Missing XML tag",
    ),
    "loc/long-base": _loss(
        meaning="The URL is relative, and its base is longer than 2,048 characters; it was left out.",
        cause="A base element or xml:base that a template filled with other data, or an attack.",
        consequence="The entry is missing. Other readers resolve it to a URL that is longer than the protocol allows.",
        fix="Write absolute URLs.",
    ),
    "loc/malformed": _error(
        meaning="The URL cannot be parsed; it was left unchanged, and was not made absolute.",
        cause="A typo such as http:/host or https//host, or a missing scheme.",
        consequence="No client can fetch it.",
        fix="Write the full URL, with https:// and the host.",
        google="Invalid URL",
    ),
    "loc/markup": _recovered(
        meaning="The URL contains an element; the text of the element was read as part of the URL.",
        cause="An HTML link was inserted, or editor markup was not removed.",
        consequence="Other readers may read only the text before the element, which is a different URL.",
        fix="Write only the URL in the <loc>, with <, > and & escaped.",
    ),
    "loc/no-base": _error(
        meaning="The URL is relative, and the URL of the document is unknown; the relative URL was left unchanged.",
        cause="A file with relative URLs was read on its own. The protocol does not allow relative URLs.",
        consequence="Search engines ignore relative URLs, or guess.",
        fix="Write the full URL, with https:// and the host.",
    ),
    "loc/no-element": _recovered(
        meaning="The URL is directly in the entry instead of in its own element; it was read.",
        cause="A text list was converted to XML.",
        consequence="Search engines report a missing tag.",
        fix="Put the URL in a <loc>.",
        google="Missing XML tag",
    ),
    "loc/not-a-url": _error(
        meaning="The text is not the URL of a page, so it is not an entry.",
        cause="An email address, a phone number, or a javascript: link from a menu.",
        consequence="Search engines report an invalid URL.",
        fix="List only URLs of pages.",
        google="Invalid URL",
    ),
    "loc/outside-entry": _recovered(
        meaning="A URL is outside any entry; it was read as a separate entry.",
        cause="The <url> around it is missing, or was closed too early.",
        consequence="Other readers miss the URL.",
        fix="Put each <loc> in a <url>, or in an index in a <sitemap>.",
    ),
    "loc/relative": _error(
        meaning="The URL is relative; it was resolved against the URL of the document.",
        cause="The generator is not configured with the base URL of the site.",
        consequence="The protocol allows only absolute URLs, and search engines reject others.",
        fix="Write the full URL, with https:// and the host.",
        google="Invalid URL",
    ),
    "loc/repeated": _recovered(
        meaning="An entry contains several URLs; each was read as a separate entry.",
        cause="A loop in the template repeats the <loc> instead of the entry.",
        consequence="Other readers use the first, the last, or none.",
        fix="Give each URL its own entry.",
    ),
    "loc/scheme": _warning(
        meaning="The scheme of the URL is neither http nor https.",
        cause="The URL of an app, of a file server, or of a file on the author's machine.",
        consequence="Search engines ignore the URL.",
        fix="List the https URL of the page.",
    ),
    "loc/template": _loss(
        meaning="The URL is a template, or part of one, that was never rendered; it was left out.",
        cause="The generator copied its template, a variable has another name, or a page has no URL yet.",
        consequence="The intended URL is missing. Search engines report an invalid URL.",
        fix="Render expressions such as {{ page.url }}, and omit pages without a URL.",
    ),
    "loc/user-name": _warning(
        meaning="The URL of a sitemap contains a user name or a password; it is requested without them.",
        cause="The generator is configured with the URL that its author uses to log in.",
        consequence="Anyone can read the password. Search engines do not log in.",
        fix="Remove the user name and the password from the URL, and change the password.",
    ),
    "loc/whitespace": _warning(
        meaning="The URL contains whitespace or an invisible character; it was left unchanged.",
        cause="A file name with spaces, a wrapped line, or text pasted from a web page.",
        consequence="Some readers escape the character; others truncate the URL there.",
        fix="Write a space as %20, and remove other such characters.",
    ),
    "priority/unreadable": _notice(
        meaning="The priority is not a number from 0 to 1.",
        cause="A decimal comma, a percentage, a scale up to 10, or a word.",
        consequence="Readers ignore the value. Google and Bing ignore all priorities anyway.",
        fix="Write a number from 0.0 to 1.0 with a decimal point, or omit the element.",
        google="Invalid tag value",
    ),
    "protocol/attribute": _notice(
        meaning="An element of the protocol has an attribute that the schema does not define.",
        cause="A template for another format, or a marker left by a tool.",
        consequence="Readers ignore the attribute. A validator rejects the document.",
        fix="Remove the attribute; only xmlns and xsi:schemaLocation are allowed.",
    ),
    "protocol/duplicate": _warning(
        meaning="The document lists a URL more than once.",
        cause="Pages in several categories, or two spellings of one URL, such as a host in upper case.",
        consequence="The URL is fetched once. If the entries differ, it is undefined which one is used.",
        fix="List each URL once.",
    ),
    "protocol/element-order": _notice(
        meaning="The elements are not in the order that the schema requires.",
        cause="An extension before <lastmod>, or a template with its own order.",
        consequence="Most readers accept any order. A validator rejects the document.",
        fix="Write loc, lastmod, changefreq and priority, then elements of other namespaces.",
    ),
    "protocol/future-lastmod": _warning(
        meaning="The date is more than a day in the future.",
        cause="The date of an event or a planned release instead of the last change, or a wrong clock.",
        consequence="Search engines may ignore the date, and may stop trusting the other dates.",
        fix="Write the date of the last change to the page.",
    ),
    "protocol/lastmod-schema": _notice(
        meaning="The schema of the protocol does not allow the format of the date.",
        cause="A year, a month, a time without seconds, or an offset beyond 14 hours.",
        consequence="Readers of W3C dates, which the text of the protocol names, understand it. "
        "A validator rejects the document.",
        fix="Write 2026-03-09 or 2026-03-09T14:00:00+01:00.",
    ),
    "protocol/loc-not-a-uri": _warning(
        meaning="The URL violates the syntax of URLs.",
        cause="A % that starts no escape, a second #, square brackets in the path, or a port that is not a number.",
        consequence="Readers escape the URL differently, and may fetch another page or none.",
        fix="Escape characters that have no special meaning in the URL: % as %25, # as %23, [ as %5B.",
    ),
    "protocol/loc-not-escaped": _notice(
        meaning='The URL contains a character that must be escaped: one of < > " { } | \\ ^ `.',
        cause="File names or search terms were inserted without being escaped.",
        consequence="Most readers escape the character; some reject the URL.",
        fix="Percent-encode the character, for example { as %7B.",
    ),
    "protocol/loc-too-long": _error(
        meaning="The URL has more than 2,048 characters.",
        cause="Filters or tracking data in the query.",
        consequence="Search engines may reject the URL.",
        fix="List the page under a shorter URL.",
    ),
    "protocol/loc-too-short": _notice(
        meaning="The text of a <loc> is shorter than the 12 characters that the schema requires.",
        cause="A relative URL, or a host with a very short name.",
        consequence="A shorter absolute URL is still read. A validator rejects the document.",
        fix="Write the full URL; a / after the host may be enough.",
    ),
    "protocol/namespace": _error(
        meaning="The root element is not in the namespace of the protocol.",
        cause="The xmlns is missing, has https or an extra slash, or is an outdated one from Google.",
        consequence="The document was still read. Google reports an incorrect namespace and may reject the document.",
        fix='Write exactly xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" in the root element.',
        google="Incorrect namespace",
    ),
    "protocol/not-checked": _notice(
        meaning="From here on, the order, names and values of the elements were not checked against the schema.",
        cause="XML that is not well-formed, a DOCTYPE, or a root element that is not the protocol's.",
        consequence="There may be more problems than those reported.",
        fix="Fix the other problems first, and validate again.",
    ),
    "protocol/not-utf-8": _warning(
        meaning="The encoding is not UTF-8, which the protocol requires.",
        cause="An old generator, or an editor that saves as UTF-16 or windows-1252.",
        consequence="The document was read in its own encoding, which not every reader supports.",
        fix="Save the document as UTF-8, and declare that encoding.",
    ),
    "protocol/other-site": _warning(
        meaning="The URL and the document are on different sites: the scheme, host or port differs.",
        cause="A missing or extra www, http instead of https, or one sitemap for several hosts.",
        consequence="Search engines ignore the URL, unless the robots.txt of that site names this document.",
        fix="List URLs of the document's own site, or name the document in the other site's robots.txt.",
    ),
    "protocol/outside-folder": _notice(
        meaning="The URL is not below the folder of the document.",
        cause="Sitemaps in their own folder, such as /sitemaps/.",
        consequence="The protocol treats the URL as invalid, unless robots.txt names the document or it was submitted.",
        fix="Put the sitemap at the root of the site, or name it in robots.txt, which a crawl and an audit consider, "
        "but not validate.",
    ),
    "protocol/root-name": _error(
        meaning="The name of the root element is not spelled as in the protocol.",
        cause="Other letter case, such as urlSet or SitemapIndex.",
        consequence="XML is case-sensitive, so strict readers do not recognize the document.",
        fix="Write urlset or sitemapindex.",
    ),
    "protocol/self-reference": _warning(
        meaning="The index lists itself.",
        cause="The generator lists every XML file in its folder.",
        consequence="The index is not read again. Google reports nested indexes as an error.",
        fix="List only sitemaps.",
    ),
    "protocol/stray-text": _warning(
        meaning="There is text at the start of the root element, where only elements are allowed.",
        cause="A message from the generator, or the remains of a template.",
        consequence="The text was ignored. A validator rejects the document.",
        fix="Remove the text, and write messages to a log.",
    ),
    "protocol/too-large": _error(
        meaning="The decompressed document is larger than 50 MiB (52,428,800 bytes).",
        cause="Too many entries in one file, or many images and alternates in each.",
        consequence="Search engines reject the document, or read only its start.",
        fix="Split the document into several sitemaps, and list them in an index.",
        google="Sitemap file size error",
    ),
    "protocol/too-many-entries": _error(
        meaning="The document has more than 50,000 entries.",
        cause="A single file for a large site.",
        consequence="Search engines reject the document, or read only its start.",
        fix="Split the document into several sitemaps, and list them in an index.",
        google="Too many URLs",
    ),
    "protocol/too-many-images": _warning(
        meaning="An entry has more than 1,000 images.",
        cause="A gallery, or the images of a whole section on each of its pages.",
        consequence="Google allows 1,000 for each page, and does not say what happens to the others.",
        fix="List only the images on the page; split a gallery into several pages.",
    ),
    "protocol/too-many-news": _error(
        meaning="The document has more than 1,000 news articles.",
        cause="The sitemap includes the archive.",
        consequence="Google reports an error. It accepts only articles from the last two days.",
        fix="List only articles from the last two days, in several sitemaps if necessary.",
        google="Too many News URLs",
    ),
    "protocol/unknown-element": _warning(
        meaning="The schema does not allow an element of this name and namespace here.",
        cause="Other letter case, a custom element, or an extension without its namespace.",
        consequence="Readers ignore or misinterpret the element. A validator rejects the document.",
        fix="Remove the element, or declare its namespace.",
    ),
    "protocol/whitespace-around": _notice(
        meaning="A value has whitespace around it where the schema allows none.",
        cause="A template with line breaks around <changefreq>, or a no-break space next to a value.",
        consequence="Most readers trim the value. A validator rejects the document.",
        fix="Write the value directly between its tags.",
    ),
    "robots/bad-directive": _warning(
        meaning="A Sitemap directive is misspelled or misplaced; it was read as intended.",
        cause="Site-map, sitemaps, a missing colon, or a directive after a rule on the same line.",
        consequence="Crawlers ignore the line, and do not find the sitemap.",
        fix="Write Sitemap: https://www.example.com/sitemap.xml on its own line.",
    ),
    "robots/no-directive": _warning(
        meaning='A line is the URL of a sitemap without "Sitemap:" before it; it was read as a directive.',
        cause="The word was forgotten, or a line was broken in two.",
        consequence="Crawlers ignore the line, and do not find the sitemap.",
        fix="Write Sitemap: before the URL.",
    ),
    "robots/not-a-url": _warning(
        meaning="A Sitemap line has no URL that can be fetched.",
        cause="A template that was not rendered, or an empty setting.",
        consequence="The line leads to no sitemap.",
        fix="Write the full URL of the sitemap, or remove the line.",
    ),
    "text/beside-url": _warning(
        meaning="A line contains more than a single URL; only the URLs in it were read.",
        cause="A table, bullets or quotes, or several URLs on a line.",
        consequence="Search engines treat the whole line as a URL, and reject it.",
        fix="Write one URL per line, and nothing else. Of a table, such as CSV, export only the column of the URLs.",
    ),
    "text/line-too-long": _loss(
        meaning="A line has more than a million characters; it was left out.",
        cause="The line breaks were lost, or the file is not a list.",
        consequence="The URLs in the line are missing.",
        fix="Write one URL per line.",
    ),
    "text/no-scheme": _loss(
        meaning="A line is an address without a scheme, which is ambiguous; it was left out.",
        cause="Hosts or paths were listed instead of URLs.",
        consequence="Search engines reject the line.",
        fix="Write the full URL, with https:// and the host.",
    ),
    "text/not-a-url": _warning(
        meaning="A line is not a URL.",
        cause="A title, a comment, or the heading of a table.",
        consequence="The line was ignored. Search engines report an invalid URL.",
        fix="Remove all lines that are not URLs.",
    ),
    "text/truncated": _cut(
        meaning="The document is truncated in its last line; that line was left out.",
        cause="An aborted transfer or compression.",
        consequence="The rest is missing.",
        fix="Publish the file only when it is complete.",
    ),
    "unpack/bad-checksum": _loss(
        meaning="The compressed data does not match its checksum.",
        cause="A transfer in text mode, a disk fault, or two programs that write to one file.",
        consequence="Some entries may be wrong. Other readers reject the file.",
        fix="Compress the document again, and compare the server's response with the file.",
        reliability=Reliability.ALL,
        google="Compression error",
    ),
    "unpack/ratio": _loss(
        meaning="The decompressed document exceeded the allowed compression ratio; it was cut off.",
        cause="A decompression bomb, or a value that is repeated endlessly.",
        consequence="The rest is missing.",
        fix="Inspect the file. To read more, add -s SITEMAP_HARVEST_MAX_RATIO=N.",
    ),
    "unpack/several-files": _loss(
        meaning="The archive contains several files; only the first was read.",
        cause="A folder was compressed instead of a file.",
        consequence="The URLs in the other files are missing. Search engines expect gzip, not archives.",
        fix="Compress each sitemap separately, with gzip.",
    ),
    "unpack/tiny-members": _loss(
        meaning="The document consists of thousands of almost empty compressed members; it was cut off.",
        cause="A decompression bomb, or a file that was compressed a few bytes at a time.",
        consequence="The rest is missing.",
        fix="Compress the document as a whole.",
    ),
    "unpack/too-deep": _loss(
        meaning="The document has more layers of compression than the limit.",
        cause="Each program that handled the file compressed it again.",
        consequence="None of it was read.",
        fix="Compress the document once, with gzip.",
    ),
    "unpack/too-large": _loss(
        meaning="The decompressed document exceeded the size limit; it was cut off.",
        cause="A single file for a large site.",
        consequence="The rest is missing. The protocol allows 50 MiB.",
        fix="Split the document into several sitemaps. To read the rest, add -s SITEMAP_HARVEST_MAX_UNPACKED=N.",
    ),
    "unpack/trailing-bytes": _warning(
        meaning="Other bytes follow the compressed data.",
        cause="A longer file was overwritten in place, or a message was appended to it.",
        consequence="The other bytes were ignored. Some readers reject the file.",
        fix="Compress the document again into a new file.",
    ),
    "unpack/truncated": _loss(
        meaning="The compressed data ends early.",
        cause="An aborted transfer, a full disk, or a file that is still being written.",
        consequence="The data before that point was read; the rest is missing. Other readers reject the file.",
        fix="Compress the document again, and publish the file only when it is complete.",
        google="Compression error",
    ),
    "unpack/unreadable": _loss(
        meaning="The compressed data is damaged.",
        cause="A transfer in text mode, a disk fault, or a method or password that is not supported.",
        consequence="The data before that point was read; the rest is missing. Other readers reject the file.",
        fix="Compress the document again with gzip, and compare the server's response with the file.",
        reliability=Reliability.ALL,
        google="Compression error",
    ),
    "xml/bad-attributes": _recovered(
        meaning="The attributes of a tag are not well-formed; only the unambiguous ones were read.",
        cause="A missing or doubled quote, or a quote inside a value.",
        consequence="Values may be missing. A strict XML parser rejects the document.",
        fix="Put each value in quotes, and write a quote inside it as &quot;.",
    ),
    "xml/bad-declaration": _error(
        meaning="The XML declaration is not well-formed, or not at the very start; it was ignored.",
        cause="Typographic quotes, a blank line or a comment before it, or two concatenated files.",
        consequence="A strict XML parser rejects the document.",
        fix='Write <?xml version="1.0" encoding="UTF-8"?>, and nothing before it.',
    ),
    "xml/bare-ampersand": _error(
        meaning="The text contains a bare &; it was left unchanged.",
        cause="URLs with a query were inserted without being escaped.",
        consequence="A strict XML parser rejects the whole document. Other parsers alter the URL.",
        fix="Write & as &amp;.",
    ),
    "xml/bare-less-than": _recovered(
        meaning="The text contains a bare <; it was left unchanged.",
        cause="Text or a URL was inserted without escaping it.",
        consequence="A strict XML parser rejects the whole document.",
        fix="Write < as &lt;.",
    ),
    "xml/control-character": _error(
        meaning="The text contains a control character that XML forbids; it was left unchanged.",
        cause="Text pasted from a word processor, or binary data.",
        consequence="A strict XML parser rejects the whole document.",
        fix="Remove such characters where the text is entered.",
    ),
    "xml/doctype": _warning(
        meaning="The document has a DOCTYPE; its entities are not expanded, and nothing is fetched for it.",
        cause="An HTML template.",
        consequence="The entries were read. Some readers reject a DOCTYPE, because it can be used for attacks.",
        fix="Remove the DOCTYPE.",
    ),
    "xml/entity-not-expanded": _loss(
        meaning="A value uses an entity that the document declares; the value was left out.",
        cause="An entity represents the URL of the site.",
        consequence="The entry is missing. Other readers handle such entities in different ways.",
        fix="Write the text itself instead of the entity.",
    ),
    "xml/entry-outside": _recovered(
        meaning="An entry is outside the root element of the document.",
        cause="Two files were concatenated, or the root element was closed too early.",
        consequence="The entry was read. A strict XML parser rejects the document.",
        fix="Put all entries in one root element.",
    ),
    "xml/extension-outside": _warning(
        meaning="An image, an alternate or another extension is outside any entry; it was ignored.",
        cause="The <url> was closed too early.",
        consequence="The extension cannot be assigned to a page.",
        fix="Put the element in the <url> of its page.",
        reliability=Reliability.RECOVERED,
    ),
    "xml/foreign-entry": _error(
        meaning="An index contains a <url>, or a sitemap contains a <sitemap>.",
        cause="Pages and sitemaps are listed in one document.",
        consequence="The element was read by its name. Search engines ignore it, or reject the document.",
        fix="List sitemaps in the index, and pages in sitemaps.",
    ),
    "xml/junk-after": _recovered(
        meaning="Other content follows the end of the document.",
        cause="A message, a script or a page footer that the server adds.",
        consequence="The content was ignored. A strict XML parser rejects the document.",
        fix="Write nothing after the end tag of the root element.",
    ),
    "xml/junk-before": _error(
        meaning="Other content precedes the document.",
        cause="An empty line before the XML declaration, or a warning that the generator prints.",
        consequence="The content was ignored. A strict XML parser rejects the document.",
        fix="Remove everything before the start of the document; in PHP, look for whitespace outside <?php and ?>.",
        google="Leading whitespace",
    ),
    "xml/malformed": _loss(
        meaning="The XML is not well-formed here; reading continued at the next element.",
        cause="A truncated tag, or one that is not XML.",
        consequence="Data may be missing. A strict XML parser rejects the document.",
        fix="Generate the document with an XML library instead of string concatenation.",
        reliability=Reliability.RECOVERED,
        google="Parsing error",
    ),
    "xml/nested-entry": _recovered(
        meaning="An entry is inside another entry; both were read.",
        cause="An end tag is missing or misplaced.",
        consequence="Other readers see only the outer entry.",
        fix="Close each entry before the next one.",
    ),
    "xml/not-well-formed": _error(
        meaning="The document is not well-formed XML; it was repaired as the other problems describe.",
        cause="The document was generated by string concatenation instead of with an XML library.",
        consequence="A strict XML parser rejects the whole document, or everything after the first error.",
        fix="Fix the other problems first; an XML library does not make such errors.",
        google="Parsing error",
    ),
    "xml/repeated-field": _warning(
        meaning="An entry repeats an element; the first value is used, and the other is in extra.",
        cause="Two plugins add the same element.",
        consequence="Other readers may use the last value, or reject the entry.",
        fix="Write each element once.",
    ),
    "xml/stray-text": _warning(
        meaning="There is text where only elements are allowed; it was ignored.",
        cause="A message from the generator, a comment without its delimiters, or a missing start tag.",
        consequence="Most readers ignore the text. A validator rejects the document.",
        fix="Remove the text.",
    ),
    "xml/truncated": _cut(
        meaning="The document ends before its root element is closed; a partial entry was left out.",
        cause="An aborted transfer, a generator that ran out of time or memory, or a full disk.",
        consequence="The rest is missing. A strict XML parser rejects the document.",
        fix="Publish the file only when it is complete.",
        google="Parsing error",
    ),
    "xml/unclosed-entry": _recovered(
        meaning="An entry is not closed before the next one begins.",
        cause="An end tag is missing in the template.",
        consequence="The entry was read. A strict XML parser rejects the document.",
        fix="Close each entry.",
    ),
    "xml/undeclared-prefix": _error(
        meaning="A prefix is not declared; it was read with its usual meaning.",
        cause="A plugin adds images, news or alternates without declaring their namespace.",
        consequence="A strict XML parser rejects the document, or ignores elements with the prefix.",
        fix="Declare the namespace in the root element, as in xmlns:image.",
    ),
    "xml/unknown-entity": _error(
        meaning="The text uses an entity that XML does not define; it was left unchanged.",
        cause="An HTML entity, such as &nbsp; or &eacute;.",
        consequence="A strict XML parser rejects the whole document.",
        fix="Write the character itself; XML defines only &amp; &lt; &gt; &quot; and &apos;.",
    ),
    "xml/unlike-tags": _recovered(
        meaning="A start tag and its end tag differ in letter case or prefix; they were matched anyway.",
        cause="The document was written by hand, or by string concatenation.",
        consequence="A strict XML parser rejects the document.",
        fix="Write both tags identically.",
    ),
}
"""The only definition of each problem code. Those of ``protocol/`` are reported only by validation, not by reading."""
