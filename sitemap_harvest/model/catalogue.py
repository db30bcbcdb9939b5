"""Every problem that a document can have: what it means, where it comes from, what follows from it, how to mend it.

The one definition of each code. The reference, ``scrapy harvest validate``
and ``Document.complete`` are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Severity(StrEnum):
    """How bad a problem is for who publishes the document; the worst comes first."""

    ERROR = "error"
    """Entries are lost, or search engines are likely to refuse the document or the entry."""
    WARNING = "warning"
    """It breaks the rules. What readers make of it differs."""
    INFO = "info"
    """It can be read without harm, and could be better."""

    @property
    def rank(self) -> int:
        """0 for the worst, and so on: what to sort by."""
        return list(Severity).index(self)


class Doubt(Enum):
    """Which entries of a document may not be as published, because of a problem."""

    NONE = auto()
    """None: what is read is what the document says, to the letter."""
    REST = auto()
    """The entry in which it is met, and all that follow."""
    MENDED = auto()
    """The same, and the entry before, where an end tag may stand too early; unless the XML is well-formed."""
    ALL = auto()
    """Every one: where the damage begins cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemType:
    """What is to be known of one code."""

    meaning: str
    """What is wrong, and how it was read, in one sentence."""
    cause: str
    """How it usually comes about."""
    consequence: str
    """What is read of it, and what others, search engines above all, make of it."""
    mend: str
    """What who publishes the document should do."""
    severity: Severity
    """How bad it is."""
    loses: bool = False
    """Whether entries may be missing from what was read."""
    doubt: Doubt = Doubt.NONE
    """Which of the entries that were read may not be as published."""


_ERROR, _WARNING, _INFO = Severity

_CHANGEFREQ = {
    "changefreq/unknown": ProblemType(
        meaning="The change frequency is no word of the protocol; it is kept as published.",
        cause="A capital letter, a translated word, or one of somebody's own, such as fortnightly.",
        consequence="Readers pass over the value. Google and Bing pass over all change frequencies anyway.",
        mend="Write always, hourly, daily, weekly, monthly, yearly or never, in lower case, or leave it out.",
        severity=_INFO,
    ),
}
_DOCUMENT = {
    "document/binary": ProblemType(
        meaning="The document is a picture, an archive, a program: nothing that is text.",
        cause="A wrong address or file, or an upload that went to the wrong name.",
        consequence="There is nothing to read. Search engines report an unsupported format.",
        mend="Serve the sitemap at this address.",
        severity=_ERROR,
    ),
    "document/bloated": ProblemType(
        meaning="So much stands in the document without an entry that it was read no further.",
        cause="Elements nested without end, or a file that is made to exhaust who reads it.",
        consequence="What follows is missing. Other readers may run out of memory.",
        mend="Look at what is there, and let the document hold nothing but its entries.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
    "document/challenge": ProblemType(
        meaning="A firewall asks for a proof that no robot is at work, or refuses; this is not the document.",
        cause="A protection against robots that makes no exception for sitemaps and feeds.",
        consequence="Nothing is read. Search engines are let in as a rule, other readers are not.",
        mend="Make an exception for robots.txt, sitemaps and feeds in the settings of the firewall.",
        severity=_ERROR,
    ),
    "document/empty": ProblemType(
        meaning="The document has no bytes, or blanks only.",
        cause="The generator failed after it had opened its file, or the server answers with an empty page.",
        consequence="There is nothing to read. Search engines report an error.",
        mend="Look at the generator's own log, and publish a new file only once it is whole.",
        severity=_ERROR,
    ),
    "document/no-entries": ProblemType(
        meaning="The document is of a kind that lists URLs, and lists none.",
        cause="A section without pages, a filter that lets nothing through, or a database that was not there.",
        consequence="No URL is learned from it. Google reports an empty sitemap as an error.",
        mend="List at least one URL, or take the document out of the index and of robots.txt.",
        severity=_WARNING,
    ),
    "document/not-a-sitemap": ProblemType(
        meaning="The document is of a kind that lists no URLs.",
        cause="An error page or a login page with the status 200, a wrong address, or another sort of file.",
        consequence="There is nothing to read. Search engines report an unsupported format.",
        mend="Serve the sitemap at this address, or answer with the status 404 where there is none.",
        severity=_ERROR,
    ),
    "document/nul-bytes": ProblemType(
        meaning="NUL bytes stand in the document; part of it is missing there.",
        cause="A file that was not written to its end, a full disk, or a crash of the server.",
        consequence="The URLs that were there are missing. A strict XML parser refuses the whole document.",
        mend="Write the file anew, and put it in place only once it is whole.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
    "document/soft-404": ProblemType(
        meaning="The server answers with a page that says that there is no such page.",
        cause="The page for what is missing is sent with the status 200.",
        consequence="There is nothing to read. Search engines report an unsupported format.",
        mend="Answer with the status 404, or serve the sitemap at this address.",
        severity=_ERROR,
    ),
    "document/too-many-sitemaps": ProblemType(
        meaning="The document names more sitemaps than the limit; those past it were not read.",
        cause="An index or a robots.txt that a program extends without end.",
        consequence="The rest is missing here. The protocol allows 50,000 in an index, and search engines refuse more.",
        mend="List them in several indexes. A higher SITEMAP_HARVEST_MAX_DOCUMENTS reads more than 100,000.",
        severity=_ERROR,
        loses=True,
    ),
    "document/too-many-urls": ProblemType(
        meaning="The document has more URLs than the limit; those past it were not read.",
        cause="All of a large site in one file.",
        consequence="The rest is missing here. The protocol allows 50,000, and search engines refuse more.",
        mend="Part it into several sitemaps. A higher SITEMAP_HARVEST_MAX_URLS reads it whole.",
        severity=_ERROR,
        loses=True,
    ),
    "document/viewer": ProblemType(
        meaning="A browser has wrapped the document in a page of its own; what is inside was read.",
        cause="The page that a browser shows of an XML file was saved instead of the file.",
        consequence="Others see a web page, and no sitemap.",
        mend="Publish the file itself.",
        severity=_ERROR,
    ),
    "document/without-row": ProblemType(
        meaning="The document names so many documents that are not asked for that most of them have no row.",
        cause="An index that names more documents than a site may have, or ones that may not be followed.",
        consequence="The first 1,000 have a row in the ledger, which says why. Of the others only the number is known.",
        mend="Raise the setting that the rows name, or name the sitemaps that you want.",
        severity=_WARNING,
    ),
}
_ENCODING = {
    "encoding/bad-bytes": ProblemType(
        meaning="Some bytes are not valid in the document's encoding; they were read as windows-1252.",
        cause="Text of several sources was put together without converting it.",
        consequence="The URLs around may be wrong. A strict XML parser refuses the whole document.",
        mend="Write the document as UTF-8 with one converter, and escape URLs with percent signs.",
        severity=_ERROR,
        doubt=Doubt.REST,
    ),
    "encoding/cut-character": ProblemType(
        meaning="The document ends within a character, so it was cut there.",
        cause="A transfer that broke off, or a file that was cut at a number of bytes.",
        consequence="What followed is missing. A strict XML parser refuses the document.",
        mend="Publish the whole file, and put it in place only once it is written.",
        severity=_ERROR,
        loses=True,
    ),
    "encoding/lies": ProblemType(
        meaning="The encoding that the document declares is not the one that its bytes have.",
        cause="A template whose first line was copied, or a server with a fixed charset in its header.",
        consequence="It was read by its bytes. Others follow the declaration, and get wrong characters.",
        mend='Write UTF-8 and declare it: <?xml version="1.0" encoding="UTF-8"?>.',
        severity=_WARNING,
    ),
    "encoding/unknown": ProblemType(
        meaning="The document declares an encoding that does not exist.",
        cause="A slip in the name, such as utf8mb4, or a template that was not filled in.",
        consequence="It was read by its bytes. A strict XML parser refuses the document.",
        mend='Declare encoding="UTF-8".',
        severity=_ERROR,
    ),
}
_FEED = {
    "feed/no-link": ProblemType(
        meaning="An entry of the feed has no link, so it lists no URL.",
        cause="Notes without a page of their own, or podcasts with only an enclosure.",
        consequence="Nothing is known of the entry but its title.",
        mend="Give each item a <link>, or in Atom a <link href>, to its page.",
        severity=_WARNING,
    ),
}
_HTML = {
    "html/off-site": ProblemType(
        meaning="A link leads to another site, so there is no entry for it.",
        cause="Partners, social networks, or pages under another host.",
        consequence="The link is passed over: a site map for people tells of its own site only.",
        mend="Nothing, unless the page belongs to the site: then link it by the address of the site.",
        severity=_INFO,
    ),
    "html/too-deep": ProblemType(
        meaning="Elements are nested deeper than any page needs; what comes after was not read.",
        cause="Elements that are never closed, or a file that is made to exhaust who reads it.",
        consequence="Links that follow are missing.",
        mend="Close the elements.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
    "html/too-large": ProblemType(
        meaning="The page is larger than any site map for people; what comes after was not read.",
        cause="A file that is made to exhaust who reads it, or a page with images written into it.",
        consequence="Links that follow are missing.",
        mend="Split the page, or publish a sitemap in XML.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
    "html/truncated": ProblemType(
        meaning="The page ends without its end tag, so it may have been cut; a link that was cut is left out.",
        cause="A transfer that broke off, or a template that does not write the end.",
        consequence="Links may be missing. Browsers show the page all the same.",
        mend="Publish the whole page, and end it with </html>.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
}
_JSON = {
    "json/control-character": ProblemType(
        meaning="A control character stands in a text, where JSON wants an escape; it was left there.",
        cause="A line break or a tab was put into a text as it is.",
        consequence="A strict JSON parser refuses the whole feed.",
        mend="Write the feed with a JSON library instead of joining text.",
        severity=_ERROR,
    ),
    "json/lone-surrogate": ProblemType(
        meaning="A text has half of a character, by an escape such as \\ud800; it was left as it stands.",
        cause="A text was cut at a number of characters, within an emoji.",
        consequence="Some readers refuse the text, others put a question mark there.",
        mend="Cut texts between characters.",
        severity=_WARNING,
    ),
    "json/malformed": ProblemType(
        meaning="The JSON is not well-formed here; the item was left out, and reading went on at the next one.",
        cause="A comma or a quote too many or too few.",
        consequence="A strict JSON parser refuses the whole feed.",
        mend="Write the feed with a JSON library instead of joining text.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.MENDED,
    ),
    "json/repeated-name": ProblemType(
        meaning="An item has a name twice; the last counts, the other is in extra.",
        cause="Two plugins add the same name.",
        consequence="Others may take the first, or refuse the feed.",
        mend="Write each name once.",
        severity=_WARNING,
    ),
    "json/truncated": ProblemType(
        meaning="The document ends before its JSON does; an item that was cut is left out.",
        cause="A transfer that broke off, or a generator that ran out of time or memory.",
        consequence="The rest is missing. A strict JSON parser refuses the whole feed.",
        mend="Publish the whole file, and put it in place only once it is written.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
}
_LASTMOD = {
    "lastmod/no-zone": ProblemType(
        meaning="A time has no zone; it was read as UTC.",
        cause="The time of a database was printed as it is.",
        consequence="The instant may be up to 14 hours off. The format of the protocol requires a zone behind a time.",
        mend="Add Z or an offset, as in 2026-03-09T14:00:00+01:00, or leave the time out.",
        severity=_INFO,
    ),
    "lastmod/not-w3c": ProblemType(
        meaning="The date was read, but is not in the form that the protocol asks for.",
        cause="A date in the form of feeds or of a database, with a blank instead of the T, or none at all.",
        consequence="Search engines may report an invalid date and pass over it.",
        mend="Write 2026-03-09 or 2026-03-09T14:00:00+01:00.",
        severity=_WARNING,
    ),
    "lastmod/unreadable": ProblemType(
        meaning="The date is none that can be read without guessing.",
        cause="A local form such as 09/03/2026, an empty element, 0000-00-00, or the name of a variable.",
        consequence="The entry has no date. Search engines pass over it, and may come to trust none of the dates.",
        mend="Write 2026-03-09 or 2026-03-09T14:00:00+01:00, or leave the element out.",
        severity=_WARNING,
    ),
}
_LIMIT = {
    "limit/bytes": ProblemType(
        meaning="So many bytes of the site had been downloaded that the document was not asked for.",
        cause="A site that is larger than SITEMAP_HARVEST_MAX_SITE_BYTES allows, or sitemaps without end.",
        consequence="What the document lists is missing, and so is what it leads to.",
        mend="Raise the setting, or name the sitemaps that you want.",
        severity=_ERROR,
        loses=True,
    ),
    "limit/depth": ProblemType(
        meaning="The document lies so many levels below what the run began with that it was not asked for.",
        cause="Indexes that list indexes without end, more often than a site that needs them.",
        consequence="What the document lists is missing. Search engines read one level of indexes.",
        mend="Let the index list sitemaps, and no indexes.",
        severity=_ERROR,
        loses=True,
    ),
    "limit/documents": ProblemType(
        meaning="So many documents of the site had been asked for that this one was not.",
        cause="A site that is larger than SITEMAP_HARVEST_MAX_DOCUMENTS allows, or indexes without end.",
        consequence="What the document lists is missing, and so is what it leads to.",
        mend="Raise the setting, or name the sitemaps that you want.",
        severity=_ERROR,
        loses=True,
    ),
    "limit/seconds": ProblemType(
        meaning="The harvest of the site had taken so long that the document was not asked for.",
        cause="A server that answers slowly, or a site that is larger than SITEMAP_HARVEST_MAX_SITE_SECONDS allows.",
        consequence="What the document lists is missing, and so is what it leads to.",
        mend="Raise the setting, or name the sitemaps that you want.",
        severity=_ERROR,
        loses=True,
    ),
    "limit/urls": ProblemType(
        meaning="So many URLs of the site had been read that the rest of the document was not, or nothing of it.",
        cause="A site that is larger than SITEMAP_HARVEST_MAX_SITE_URLS allows.",
        consequence="What follows is missing.",
        mend="Raise the setting, or name the sitemaps that you want.",
        severity=_ERROR,
        loses=True,
    ),
}
_LOC = {
    "loc/control-character": ProblemType(
        meaning="The URL has a control character in it, which no URL has; there is no entry for it.",
        cause="A file that was not written to its end, so that it is filled with NUL bytes, or text that was pasted.",
        consequence="The URL that was meant is missing. A strict XML parser refuses the whole document.",
        mend="Publish the whole file, and take such characters out where the address is entered.",
        severity=_ERROR,
        loses=True,
    ),
    "loc/empty": ProblemType(
        meaning="An entry has no URL.",
        cause="A page without an address, such as a draft, or a field with another name.",
        consequence="The entry says nothing. Search engines report it as an error of the sitemap.",
        mend="Give each entry a <loc> with an absolute URL, or leave the entry out.",
        severity=_ERROR,
    ),
    "loc/long-base": ProblemType(
        meaning="The address is relative, and what it is relative to has more than 2,048 characters: it is left out.",
        cause="A base element or xml:base that a template has filled with something else, or an attack.",
        consequence="The entry is missing here. Others make a URL of it that is longer than the protocol allows.",
        mend="Write absolute URLs.",
        severity=_ERROR,
        loses=True,
    ),
    "loc/malformed": ProblemType(
        meaning="The URL cannot be taken apart; it is kept as published and was not made absolute.",
        cause="A slip such as http:/host or https//host, or a missing scheme.",
        consequence="Nobody can fetch it as it stands.",
        mend="Write the whole URL, with https:// and the host.",
        severity=_ERROR,
    ),
    "loc/markup": ProblemType(
        meaning="There is an element inside the URL; its text was read as part of the URL.",
        cause="A link was put in as HTML, or an editor's markup was not taken out.",
        consequence="Other readers may take only the text before it, which is another URL.",
        mend="Let the element hold the URL alone, with <, > and & escaped.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "loc/no-base": ProblemType(
        meaning="The URL is relative, and where the document is served is not known; it is kept as published.",
        cause="A file that was read by itself, with relative URLs, which the protocol does not allow.",
        consequence="Search engines pass over relative URLs, or guess.",
        mend="Write the whole URL, with https:// and the host.",
        severity=_ERROR,
    ),
    "loc/no-element": ProblemType(
        meaning="The URL stands in the entry itself, without an element of its own; it was read.",
        cause="A list of lines was turned into XML.",
        consequence="Search engines report a missing tag.",
        mend="Put the URL into a <loc>.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "loc/not-a-url": ProblemType(
        meaning="The text is no URL of a page, so there is no entry for it.",
        cause="An e-mail address, a telephone number, or javascript: out of a menu.",
        consequence="Search engines report an invalid URL.",
        mend="List the addresses of pages only.",
        severity=_ERROR,
    ),
    "loc/outside-entry": ProblemType(
        meaning="A URL stands outside any entry; it was read as an entry of its own.",
        cause="The <url> around it was forgotten, or closed too early.",
        consequence="Others do not see the URL.",
        mend="Put each <loc> into a <url>, in an index into a <sitemap>.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "loc/relative": ProblemType(
        meaning="The URL is relative; it was made absolute against the document's address.",
        cause="The generator was not told the address of the site.",
        consequence="The protocol has absolute URLs only, and search engines refuse others.",
        mend="Write the whole URL, with https:// and the host.",
        severity=_ERROR,
    ),
    "loc/repeated": ProblemType(
        meaning="One entry holds several URLs; each has become an entry of its own.",
        cause="A loop stands around the <loc> instead of the entry.",
        consequence="Others take the first, the last, or none.",
        mend="Give each URL an entry of its own.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "loc/scheme": ProblemType(
        meaning="The scheme of the URL is neither http nor https.",
        cause="An address for an app, a file server, or a file on the author's machine.",
        consequence="Search engines pass over it.",
        mend="List the https address of the page.",
        severity=_WARNING,
    ),
    "loc/template": ProblemType(
        meaning="The URL is a template, or part of one, that was never rendered; there is no entry for it.",
        cause="The generator copied its template, a variable has another name, or a page has no address yet.",
        consequence="The URL that was meant is missing. Search engines report an invalid URL.",
        mend="Let the generator render {{ page.url }} and the like, and leave out pages without an address.",
        severity=_ERROR,
        loses=True,
    ),
    "loc/user-name": ProblemType(
        meaning="The address of a sitemap has a user name or a password in it; it is asked for without.",
        cause="The generator was told the address by which its author logs in.",
        consequence="Everybody can read the password. Search engines do not log in.",
        mend="Leave it out, and change the password.",
        severity=_WARNING,
    ),
    "loc/whitespace": ProblemType(
        meaning="There is white space, or a character that shows as nothing, inside the URL; it was left there.",
        cause="A file name with blanks, a line that was wrapped, or text that was pasted from a web page.",
        consequence="Some readers escape it, others cut the URL there.",
        mend="Write a blank as %20, and take out what does not belong there.",
        severity=_WARNING,
    ),
}
_PRIORITY = {
    "priority/unreadable": ProblemType(
        meaning="The priority is no number from 0 to 1.",
        cause="A decimal comma, a percentage, a scale up to 10, or a word.",
        consequence="Readers pass over the value. Google and Bing pass over all priorities anyway.",
        mend="Write a number from 0.0 to 1.0 with a point, or leave it out.",
        severity=_INFO,
    ),
}
_PROTOCOL = {
    "protocol/attribute": ProblemType(
        meaning="An element of the protocol has an attribute, and the schema has none for it.",
        cause="A template that was made for another format, or a mark that a tool has left.",
        consequence="Readers pass over it. A validator refuses the document.",
        mend="Take the attribute out; only xmlns and xsi:schemaLocation are allowed.",
        severity=_INFO,
    ),
    "protocol/blanks-around": ProblemType(
        meaning="A blank stands where the schema allows none.",
        cause="A template with line breaks around <changefreq>, or a no-break space beside a value.",
        consequence="Most readers trim the value. A validator refuses the document.",
        mend="Write the value close to its tags.",
        severity=_INFO,
    ),
    "protocol/duplicate": ProblemType(
        meaning="The document lists one URL more than once.",
        cause="Pages of several categories, or two spellings that name one URL, such as a host in capitals.",
        consequence="It is fetched once. Where the entries differ, which of them counts is left to chance.",
        mend="List each URL once.",
        severity=_WARNING,
    ),
    "protocol/element-order": ProblemType(
        meaning="The elements stand in an order that the schema does not have.",
        cause="An extension before <lastmod>, or a template with an order of its own.",
        consequence="Readers do not mind as a rule. A validator refuses the document.",
        mend="Write loc, lastmod, changefreq, priority, and then what is of other namespaces.",
        severity=_INFO,
    ),
    "protocol/future-lastmod": ProblemType(
        meaning="The date is more than a day in the future.",
        cause="The date of an event or of a planned release stands for the last change, or a clock is wrong.",
        consequence="Search engines may pass over it, and come to trust none of the dates.",
        mend="Give the date on which the page was changed last.",
        severity=_WARNING,
    ),
    "protocol/lastmod-schema": ProblemType(
        meaning="The date is in a form that the protocol's text allows, and its schema does not.",
        cause="A year, a month, or a time without seconds.",
        consequence="Readers of W3C dates understand it. A validator refuses the document.",
        mend="Give the day, and a time with seconds or none.",
        severity=_INFO,
    ),
    "protocol/loc-not-a-uri": ProblemType(
        meaning="The URL breaks the rules for URLs.",
        cause="A % that begins no escape, a second #, square brackets in the path, or a port that is no number.",
        consequence="Readers escape it each in their own way, and may fetch another page or none.",
        mend="Escape what has no meaning of its own: % as %25, # as %23, [ as %5B.",
        severity=_WARNING,
    ),
    "protocol/loc-not-escaped": ProblemType(
        meaning='The URL holds a character that has to be escaped: one of < > " { } | \\ ^ `.',
        cause="File names or search words were put into the URL as they are.",
        consequence="Most readers escape it by themselves; some refuse the URL.",
        mend="Escape it with a percent sign, as in %7B for {.",
        severity=_INFO,
    ),
    "protocol/loc-too-long": ProblemType(
        meaning="The URL has more than 2,048 characters.",
        cause="Filters or tracking data in the query.",
        consequence="Search engines may refuse it.",
        mend="List the page by a short address.",
        severity=_ERROR,
    ),
    "protocol/loc-too-short": ProblemType(
        meaning="The text of a <loc> has less than the 12 characters that the schema asks for.",
        cause="A relative URL, or a host with a very short name.",
        consequence="An absolute URL of fewer characters is read all the same. A validator refuses the document.",
        mend="Write the whole URL; a / behind the host may be enough.",
        severity=_INFO,
    ),
    "protocol/namespace": ProblemType(
        meaning="The root is not in the namespace of the protocol.",
        cause="The xmlns was left out, has https or a slash too many, or is an old one of Google's.",
        consequence="It was read all the same. Google reports an incorrect namespace and may refuse the document.",
        mend='Write xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" into the root, to the letter.',
        severity=_ERROR,
    ),
    "protocol/not-checked": ProblemType(
        meaning="The order, names and values of the elements were not held against the schema from here on.",
        cause="XML that is not well-formed, a DOCTYPE, or a root that is not the protocol's.",
        consequence="There may be more that is wrong than is told here.",
        mend="Begin with what the other problems tell, and validate again.",
        severity=_INFO,
    ),
    "protocol/not-utf-8": ProblemType(
        meaning="The encoding is not UTF-8, as the protocol has it.",
        cause="An old generator, or an editor that saves as UTF-16 or windows-1252.",
        consequence="It was read in its own encoding. Not every reader knows that.",
        mend="Save it as UTF-8, and declare that.",
        severity=_WARNING,
    ),
    "protocol/other-site": ProblemType(
        meaning="The URL is on another site than the document: another scheme, host or port.",
        cause="A www too many or too few, http instead of https, or one sitemap for several hosts.",
        consequence="Search engines pass over it, unless the robots.txt of that site names this document.",
        mend="List URLs of the document's own site, or name the document in the other site's robots.txt.",
        severity=_WARNING,
    ),
    "protocol/outside-folder": ProblemType(
        meaning="The URL is not below the folder that the document lies in.",
        cause="Sitemaps in a folder of their own, such as /sitemaps/.",
        consequence="By the protocol it does not count, unless robots.txt names the document or it was submitted.",
        mend="Put the sitemap at the root of the site, or name it in robots.txt.",
        severity=_INFO,
    ),
    "protocol/root-name": ProblemType(
        meaning="The name of the root is not written as the protocol has it.",
        cause="Other letter case, such as urlSet or SitemapIndex.",
        consequence="XML tells letter case apart: strict readers do not know the document.",
        mend="Write urlset or sitemapindex.",
        severity=_ERROR,
    ),
    "protocol/self-reference": ProblemType(
        meaning="The index lists itself.",
        cause="The generator lists every XML file of its folder.",
        consequence="It is not read again. Google reports nested indexes as an error.",
        mend="List sitemaps only.",
        severity=_WARNING,
    ),
    "protocol/stray-text": ProblemType(
        meaning="Text stands at the start of the root, where only elements belong.",
        cause="A message of the generator, or the rest of a template.",
        consequence="It was passed over. A validator refuses the document.",
        mend="Take the text out, and let messages go to a log.",
        severity=_WARNING,
    ),
    "protocol/too-large": ProblemType(
        meaning="The document has more than 50 MiB (52,428,800 bytes) unpacked.",
        cause="Too many entries in one file, or many images and alternates in each.",
        consequence="Search engines refuse it, or read only its start.",
        mend="Part it into several sitemaps and list those in an index.",
        severity=_ERROR,
    ),
    "protocol/too-many-entries": ProblemType(
        meaning="The document has more than 50,000 entries.",
        cause="All of a large site in one file.",
        consequence="Search engines refuse it, or read only its start.",
        mend="Part it into several sitemaps and list those in an index.",
        severity=_ERROR,
    ),
    "protocol/too-many-images": ProblemType(
        meaning="An entry has more than 1,000 images.",
        cause="A gallery, or the images of a whole section at each of its pages.",
        consequence="Google allows 1,000 for each page; what becomes of the others is not told.",
        mend="List the images that are on the page; part a gallery into pages.",
        severity=_WARNING,
    ),
    "protocol/too-many-news": ProblemType(
        meaning="The document has more than 1,000 news articles.",
        cause="The archive is listed too.",
        consequence="Google reports an error. It takes articles of the last two days only.",
        mend="List the articles of the last two days, in several sitemaps if need be.",
        severity=_ERROR,
    ),
    "protocol/unknown-element": ProblemType(
        meaning="An element stands where the schema has none of that name and namespace.",
        cause="Other letter case, an element of one's own, or an extension without its namespace.",
        consequence="Readers pass over it, or understand something else. A validator refuses the document.",
        mend="Take it out, or declare the namespace that it belongs to.",
        severity=_WARNING,
    ),
}
_ROBOTS = {
    "robots/bad-directive": ProblemType(
        meaning="A Sitemap directive is not written as the protocol has it; what is meant was read.",
        cause="Site-map, sitemaps, a missing colon, or a directive behind a rule on its line.",
        consequence="Crawlers pass over the line, and do not find the sitemap.",
        mend="Write Sitemap: https://www.example.com/sitemap.xml on a line of its own.",
        severity=_WARNING,
    ),
    "robots/no-directive": ProblemType(
        meaning='A line is the address of a sitemap without "Sitemap:" before it; it was read as one.',
        cause="The word was forgotten, or a line was broken in two.",
        consequence="Crawlers pass over the line, and do not find the sitemap.",
        mend="Write Sitemap: before the address.",
        severity=_WARNING,
    ),
    "robots/not-a-url": ProblemType(
        meaning="A Sitemap line holds no address that can be fetched.",
        cause="A template that was not filled in, or an empty setting.",
        consequence="No sitemap is found by it.",
        mend="Give the whole address of the sitemap, or take the line out.",
        severity=_WARNING,
    ),
}
_TEXT = {
    "text/beside-url": ProblemType(
        meaning="Something stands beside the URL on its line; the URL was read without it.",
        cause="A table, bullets or quotes, or several URLs on a line.",
        consequence="Search engines take the whole line for the URL, and refuse it.",
        mend="Write one URL a line, and nothing else.",
        severity=_WARNING,
    ),
    "text/line-too-long": ProblemType(
        meaning="A line has more than a million characters; it is left out.",
        cause="The line breaks were lost, or the file is no list.",
        consequence="The URLs in it are missing.",
        mend="Write one URL a line.",
        severity=_ERROR,
        loses=True,
    ),
    "text/no-scheme": ProblemType(
        meaning="A line is an address without a scheme, which could mean two things; it is left out.",
        cause="Hosts or paths were listed instead of URLs.",
        consequence="Search engines refuse the line.",
        mend="Write the whole URL, with https:// and the host.",
        severity=_ERROR,
        loses=True,
    ),
    "text/not-a-url": ProblemType(
        meaning="A line is no URL.",
        cause="A title, a comment, or a heading of a table.",
        consequence="It was passed over. Search engines report an invalid URL.",
        mend="Leave out all lines that are no URL.",
        severity=_WARNING,
    ),
    "text/truncated": ProblemType(
        meaning="The document ends early, and its last line with it; that line is left out.",
        cause="A transfer or a packing that broke off.",
        consequence="The rest is missing.",
        mend="Publish the whole file, and put it in place only once it is written.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
}
_UNPACK = {
    "unpack/bad-checksum": ProblemType(
        meaning="The packed data does not match its own checksum.",
        cause="A transfer in text mode, a fault of the disk, or two writers of one file.",
        consequence="Some of what was read may be wrong. Others refuse the file.",
        mend="Pack it anew, and compare what the server sends with the file.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.ALL,
    ),
    "unpack/ratio": ProblemType(
        meaning="The document grew by more than the allowed ratio while being unpacked; it was cut off.",
        cause="A file that is made to exhaust who unpacks it, or one value repeated without end.",
        consequence="The rest is missing.",
        mend="Look at what is in the file. A higher SITEMAP_HARVEST_MAX_RATIO reads more of it.",
        severity=_ERROR,
        loses=True,
    ),
    "unpack/several-files": ProblemType(
        meaning="The archive holds several files; only the first was read.",
        cause="A folder was packed instead of a file.",
        consequence="What the other files list is missing. Search engines expect gzip, and no archives.",
        mend="Pack each sitemap by itself, with gzip.",
        severity=_ERROR,
        loses=True,
    ),
    "unpack/tiny-members": ProblemType(
        meaning="The document is packed in thousands of members that hold next to nothing; it was cut off.",
        cause="A file that is made to exhaust who unpacks it, or one that is packed a few bytes at a time.",
        consequence="The rest is missing.",
        mend="Pack the document as a whole.",
        severity=_ERROR,
        loses=True,
    ),
    "unpack/too-deep": ProblemType(
        meaning="The document is packed in more layers than the limit.",
        cause="It was packed again at each step on its way.",
        consequence="Nothing of it was read.",
        mend="Pack it once, with gzip.",
        severity=_ERROR,
        loses=True,
    ),
    "unpack/too-large": ProblemType(
        meaning="The document grew past the allowed size while being unpacked; it was cut off.",
        cause="All of a large site in one file.",
        consequence="The rest is missing. The protocol allows 50 MiB.",
        mend="Part it into several sitemaps. A higher SITEMAP_HARVEST_MAX_UNPACKED reads it whole.",
        severity=_ERROR,
        loses=True,
    ),
    "unpack/trailing-bytes": ProblemType(
        meaning="Bytes that are not packed data follow the packed data.",
        cause="A longer file was overwritten in place, or a message was added to it.",
        consequence="They were passed over. Some readers refuse the file.",
        mend="Pack it anew into a new file.",
        severity=_WARNING,
    ),
    "unpack/truncated": ProblemType(
        meaning="The packed data ends early.",
        cause="A transfer that broke off, a full disk, or a file that is still being written.",
        consequence="What comes before was read, and the rest is missing. Others refuse the file.",
        mend="Pack it anew, and put it in place only once it is written.",
        severity=_ERROR,
        loses=True,
    ),
    "unpack/unreadable": ProblemType(
        meaning="The packed data is damaged.",
        cause="A transfer in text mode, a fault of the disk, or a method or password that is not supported.",
        consequence="What comes before was read, and the rest is missing. Others refuse the file.",
        mend="Pack it anew with gzip, and compare what the server sends with the file.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.ALL,
    ),
}
_XML = {
    "xml/bad-attributes": ProblemType(
        meaning="The attributes of a tag are not well-formed; of them, what can be told apart was read.",
        cause="A missing or doubled quote, or one inside the value.",
        consequence="Values may be missing. A strict XML parser refuses the document.",
        mend="Put each value into quotes, and write a quote in it as &quot;.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "xml/bad-declaration": ProblemType(
        meaning="The XML declaration is not well-formed, or not at the very start; it was passed over.",
        cause="Typographic quotes, a blank line or a comment before it, or two files put together.",
        consequence="A strict XML parser refuses the document.",
        mend='Write <?xml version="1.0" encoding="UTF-8"?>, and nothing before it.',
        severity=_ERROR,
    ),
    "xml/bare-ampersand": ProblemType(
        meaning="A bare & stands in the text; it was read as it stands.",
        cause="URLs with a query were put in without escaping them.",
        consequence="A strict XML parser refuses the whole document, and others alter the URL.",
        mend="Write & as &amp;.",
        severity=_ERROR,
    ),
    "xml/bare-less-than": ProblemType(
        meaning="A bare < stands in the text; it was read as it stands.",
        cause="Text or a URL was put in without escaping it.",
        consequence="A strict XML parser refuses the whole document.",
        mend="Write < as &lt;.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "xml/control-character": ProblemType(
        meaning="A control character that XML forbids stands in the text; it was left as it stands.",
        cause="Text that was pasted from a word processor, or binary data.",
        consequence="A strict XML parser refuses the whole document.",
        mend="Take such characters out where the text is entered.",
        severity=_ERROR,
    ),
    "xml/doctype": ProblemType(
        meaning="The document has a DOCTYPE; its entities are not expanded and nothing is fetched.",
        cause="A template that was made for HTML.",
        consequence="The entries were read. Some readers refuse a DOCTYPE, for it can be used for attacks.",
        mend="Take the DOCTYPE out.",
        severity=_WARNING,
    ),
    "xml/entity-not-expanded": ProblemType(
        meaning="A value uses an entity that the document declares; it is not expanded, but left out.",
        cause="An entity stands for the address of the site.",
        consequence="The entry is missing here. What others make of it differs.",
        mend="Write the text itself instead of the entity.",
        severity=_ERROR,
        loses=True,
    ),
    "xml/entry-outside": ProblemType(
        meaning="An entry stands outside the document's root element.",
        cause="Two files were joined, or the root was closed too early.",
        consequence="It was read. A strict XML parser refuses the document.",
        mend="Put all entries into one root.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "xml/extension-outside": ProblemType(
        meaning="An image, an alternate or the like stands outside any entry; it was passed over.",
        cause="The <url> was closed too early.",
        consequence="What it says belongs to no page.",
        mend="Put it into the <url> of its page.",
        severity=_WARNING,
        doubt=Doubt.MENDED,
    ),
    "xml/foreign-entry": ProblemType(
        meaning="A <url> stands in an index, or a <sitemap> in a sitemap.",
        cause="Pages and sitemaps were listed in one document.",
        consequence="It was read as what it is. Search engines pass over it, or refuse the document.",
        mend="List sitemaps in the index, and pages in sitemaps.",
        severity=_ERROR,
    ),
    "xml/junk-after": ProblemType(
        meaning="Something follows the end of the document.",
        cause="A message, a script or the footer of a page that the server adds.",
        consequence="It was passed over. A strict XML parser refuses the document.",
        mend="Let nothing follow the root's end tag.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "xml/junk-before": ProblemType(
        meaning="Something stands before the document.",
        cause="An empty line before the XML declaration, or a warning that the generator prints.",
        consequence="It was passed over. A strict XML parser refuses the document.",
        mend="Let the document begin with its first byte; in PHP look for blanks outside of <?php and ?>.",
        severity=_ERROR,
    ),
    "xml/malformed": ProblemType(
        meaning="The XML is not well-formed here; reading went on at the next element.",
        cause="A tag that was cut, or one that is not XML.",
        consequence="Something may be missing. A strict XML parser refuses the document.",
        mend="Write the document with an XML library instead of joining text.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.MENDED,
    ),
    "xml/nested-entry": ProblemType(
        meaning="An entry stands inside another one; each was read.",
        cause="An end tag was forgotten or is at the wrong place.",
        consequence="Others see the outer entry only.",
        mend="Close each entry before the next one.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "xml/not-well-formed": ProblemType(
        meaning="The document is no well-formed XML; it was mended, as other problems tell.",
        cause="The document was written by joining text instead of with an XML library.",
        consequence="A strict XML parser refuses the whole document, or all that follows the first error.",
        mend="Begin with what the other problems tell; an XML library does not make such errors.",
        severity=_ERROR,
    ),
    "xml/repeated-field": ProblemType(
        meaning="An entry has a value twice; the first counts, the other is in extra.",
        cause="Two plugins add the same element.",
        consequence="Others may take the last, or refuse the entry.",
        mend="Write each element once.",
        severity=_WARNING,
    ),
    "xml/stray-text": ProblemType(
        meaning="Text stands where only elements belong; it was passed over.",
        cause="A message of the generator, a comment without its marks, or an element that was not opened.",
        consequence="Readers do not mind as a rule. A validator refuses the document.",
        mend="Take the text out.",
        severity=_WARNING,
    ),
    "xml/truncated": ProblemType(
        meaning="The document ends before its root element does; an entry that was cut is left out.",
        cause="A transfer that broke off, a generator that ran out of time or memory, or a full disk.",
        consequence="The rest is missing. A strict XML parser refuses the document.",
        mend="Publish the whole file, and put it in place only once it is written.",
        severity=_ERROR,
        loses=True,
        doubt=Doubt.REST,
    ),
    "xml/unclosed-entry": ProblemType(
        meaning="An entry is not closed before the next one begins.",
        cause="An end tag was forgotten in the template.",
        consequence="It was read. A strict XML parser refuses the document.",
        mend="Close each entry.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
    "xml/undeclared-prefix": ProblemType(
        meaning="A prefix is not declared; it was taken to mean what it usually does.",
        cause="A plugin adds images, news or alternates, and not their namespace.",
        consequence="A strict XML parser refuses the document, or passes over what has the prefix.",
        mend="Declare the namespace in the root, as in xmlns:image.",
        severity=_ERROR,
    ),
    "xml/unknown-entity": ProblemType(
        meaning="The text uses an entity that XML does not know; it was left as it stands.",
        cause="An entity of HTML, such as &nbsp; or &eacute;.",
        consequence="A strict XML parser refuses the whole document.",
        mend="Write the character itself; XML knows only &amp; &lt; &gt; &quot; and &apos;.",
        severity=_ERROR,
    ),
    "xml/unlike-tags": ProblemType(
        meaning="A start tag and its end tag differ in letter case or prefix; they were taken for a pair.",
        cause="The document was written by hand, or by joining text.",
        consequence="A strict XML parser refuses the document.",
        mend="Write both tags alike.",
        severity=_ERROR,
        doubt=Doubt.MENDED,
    ),
}

CATALOGUE: Mapping[str, ProblemType] = {
    **_CHANGEFREQ,
    **_DOCUMENT,
    **_ENCODING,
    **_FEED,
    **_HTML,
    **_JSON,
    **_LASTMOD,
    **_LIMIT,
    **_LOC,
    **_PRIORITY,
    **_PROTOCOL,
    **_ROBOTS,
    **_TEXT,
    **_UNPACK,
    **_XML,
}
"""Every code a problem can have. Those of ``protocol/`` are told by a validation only, not by reading."""
