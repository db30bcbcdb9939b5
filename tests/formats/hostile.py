"""Documents designed to cost time or memory, and the cost of reading each of them.

``python -m tests.formats.hostile [--bytes N] [NAME ...]`` prints the table.
"""

from __future__ import annotations

import argparse
import bz2
import ctypes
import gzip
import io
import re
import resource
import time
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest import read
from sitemap_harvest.formats import decompressors as inflate
from tests.documents import HERE, SITEMAPS
from tests.forked import FORKSERVER
from tests.machine import slowdown

if TYPE_CHECKING:
    from collections.abc import Callable

MB = 1_000_000
ROBOTS = "https://example.com/robots.txt"
LIST = "https://example.com/urls.txt"
ROOT = f'<urlset xmlns="{SITEMAPS}">'.encode()
INDEX = f'<sitemapindex xmlns="{SITEMAPS}">'.encode()
LOC = b"<loc>https://example.com/a</loc>"
ENTRY = b"<url>" + LOC + b"</url>"
PAGE = b"<html><head><title>Sitemap</title></head><body>"
RSS = b"<rss><channel>"
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom">'
JSON = b'{"version":"https://jsonfeed.org/version/1","items":['
LATIN_1 = b'<?xml version="1.0" encoding="iso-8859-1"?>'
LINE = b"https://example.com/a\n"


class Hostile(NamedTuple):
    """A document of any size."""

    make: Callable[[int], bytes]
    """Returns it with about so many bytes, decompressed."""
    url: str = HERE


class Cost(NamedTuple):
    """The cost of reading a document."""

    seconds: float
    """Processor seconds, scaled to an idle machine."""
    bytes_unpacked: int
    mb: float
    """Peak memory above that of the process with the body loaded."""
    codes: tuple[str, ...]
    """The problems."""
    entries: int

    @property
    def seconds_per_mb(self) -> float:
        return self.seconds / max(self.bytes_unpacked / MB, 1)


def repeated(start: bytes, token: bytes, end: bytes = b"", *, url: str = HERE) -> Hostile:
    """Return a document that repeats *token*."""
    return Hostile(lambda n: start + token * max(1, n // len(token)) + end, url)


def numbered(start: bytes, token: bytes, end: bytes = b"", *, url: str = HERE) -> Hostile:
    """Return a document that repeats *token*, each time with another number for its ``%d``."""

    def make(n: int) -> bytes:
        size = len(token) + 4
        return start + b"".join(token % number for number in range(max(1, n // size))) + end

    return Hostile(make, url)


def members(pack: Callable[[bytes], bytes], text: Callable[[int], bytes], size: int, *, url: str = LIST) -> Hostile:
    """Return a document compressed in members of *size* bytes each."""

    def make(n: int) -> bytes:
        body = text(n)
        return b"".join(pack(body[at : at + size]) for at in range(0, len(body), size))

    return Hostile(make, url)


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def _zip(data: bytes, level: int = 1) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        archive.writestr("sitemap.xml", data)
    return file.getvalue()


def _random(n: int) -> bytes:
    state, pieces = 1, []
    for _ in range(n // 64 + 1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**256
        pieces.append(b"%064x" % state)
    return b"".join(pieces)[:n]


def with_base(head: bytes, item: bytes, chars: int) -> Hostile:
    """Return a document with a base of *chars* characters, and relative references."""
    base = b"https://example.com/" + b"b" * chars + b"/"
    return numbered(head % base, item)


DOCUMENTS: dict[str, Hostile] = {
    # pages
    "page-whitespace-before-body": Hostile(lambda n: b"<html><head></head>" + b" " * n + b"<body>x</body></html>"),
    "page-whitespace-after-html": Hostile(lambda n: b"<html>" + b" " * n + b"<body>x</body></html>"),
    "page-whitespace-after-body": Hostile(lambda n: b"<html><body>" + b" " * n + b"x</body></html>"),
    "page-whitespace-after-title": Hostile(lambda n: b"<html><head><title>" + b" " * n + b"x</title>"),
    "page-comment": Hostile(lambda n: PAGE + b"<!--" + b"a" * n),
    "page-attribute": Hostile(lambda n: PAGE + b"<a href='" + b"a" * n),
    "page-attribute-value": Hostile(lambda n: PAGE + b"<a href='/" + b"a" * n + b"'>a</a>"),
    "page-name": Hostile(lambda n: PAGE + b"<" + b"a" * n),
    "page-text": Hostile(lambda n: PAGE + b"a" * n),
    "page-script": Hostile(lambda n: PAGE + b"<script>" + b"a" * n),
    "page-instruction": Hostile(lambda n: PAGE + b"<?a " + b"a" * n),
    "page-doctype": Hostile(lambda n: b"<!doctype html " + b"a" * n),
    "page-many-names": numbered(PAGE, b"<a%d>"),
    "page-many-names-closed": numbered(PAGE, b"<a%d/></a%d>".replace(b"</a%d>", b"")),
    "page-many-attributes": numbered(PAGE, b"<p a%d></p>"),
    "page-whitespace-in-head": Hostile(lambda n: b"<html><head>" + b" \n" * (n // 2) + b"<body>x</body></html>"),
    "page-doctype-whitespace": Hostile(lambda n: b"<!doctype html>" + b" " * n + b"<html"),
    "page-pre": Hostile(lambda n: b"<html><body>" + b" " * n + b"<pre "),
    "page-pre-divs": repeated(b"<html><body><pre>x</pre>", b"<div> </div> "),
    "page-metas": repeated(b"<html><head>", b"<meta >"),
    "page-styles": repeated(b"<html><head>", b"<style>"),
    "page-titles-open": repeated(b"<html><head>", b"<title> "),
    "page-pre-end": repeated(b"<html><body><pre>http://a.example/</pre>", b"</body> "),
    "page-meta-charset": repeated(b"<html>", b"<meta "),
    "page-meta-charset-2": repeated(b"<html>", b"<meta charset"),
    "page-instructions": repeated(b"<html>", b"<?xml <"),
    "page-scripts": repeated(b"<html>", b"<script>"),
    "page-cdata": repeated(b"<html>", b"<![CDATA["),
    "page-textareas": repeated(b"<html>", b"<textarea></script>"),
    "page-colons": repeated(b"<html>", b"<a.a"),
    "page-names": repeated(b"<html>", b"<aaaaaaaaaaaaaaaa"),
    "page-title-long": Hostile(lambda n: b"<html><title>" + b"a - " * (n // 4) + b"</title>"),
    "page-title-whitespace": Hostile(lambda n: b"<html><title>a" + b" " * n + b"</title>"),
    "page-h1s": repeated(b"<html>", b"<h1>"),
    "page-iframes": repeated(b"<html><title>Just a moment...</title>", b"<iframe "),
    "page-attributes": numbered(b"<html><title>Sitemap</title><a ", b"a%d=b "),
    "page-words": repeated(b"<html><title>Access Denied</title>", b"You don't have permission to access "),
    "page-scripts-dd": repeated(b"<html><title>x</title><script>", b"dd={"),
    "page-iframe-tags": repeated(b"<html><title>x</title>", b'<iframe a="">'),
    "page-base": with_base(b"<html><head><title>Sitemap</title><base href='%s'>", b"<a href=%d>", 100_000),
    "page-base-64k": with_base(b"<html><head><title>Sitemap</title><base href='%s'>", b"<a href=%d>", 60_000),
    "page-base-8k": with_base(b"<html><head><title>Sitemap</title><base href='%s'>", b"<a href=%d>", 8_000),
    "page-base-2k": with_base(b"<html><head><title>Sitemap</title><base href='%s'>", b"<a href=%d>", 1_900),
    "page-base-hints": with_base(b"<html><head><base href='%s'>", b"<link rel=sitemap href=%d>", 100_000),
    "page-base-hints-2k": with_base(b"<html><head><base href='%s'>", b"<link rel=sitemap href=%d>", 1_900),
    "page-hints": numbered(b"<html><head>", b"<link rel=sitemap href=/%d>"),
    "page-links": numbered(PAGE, b"<a href=/%d>a</a>"),
    "page-links-titles": numbered(PAGE, b"<a href=/%d>" + b"a b " * 5_000 + b"</a>"),
    "page-link-text": repeated(PAGE + b"<a href=/a>", b"a "),
    "page-offsite": numbered(PAGE, b"<a href=//h%d.example/>a</a>"),
    "page-dots": repeated(PAGE + b"<a href='", b"../"),
    "page-ports": repeated(PAGE, b"<a href='http://a:b'>"),
    "page-long-hrefs": numbered(PAGE, b"<a href='/%d" + b"/a" * 30_000 + b"'>a</a>"),
    "page-references": repeated(PAGE + b"<a href='/", b"&#x41;"),
    "page-tables": repeated(PAGE, b"<table><td>"),
    "page-anchors": repeated(PAGE, b"<a>"),
    "page-fonts": repeated(PAGE, b"<p><font>"),
    "page-end-tags": repeated(PAGE + b"<b>" * 900, b"</i>"),
    # viewers
    "viewer-pre": repeated(b"<html><body><pre>", b"https://example.com/a&amp;b\n"),
    "viewer-pre-one-line": repeated(b"<html><body><pre>https://example.com/", b"&amp;"),
    "viewer-xml": repeated(
        b'<html><body><div id="webkit-xml-viewer-source-xml">' + ROOT, ENTRY, b"</urlset></div></body></html>"
    ),
    "viewer-root-quotes": repeated(b'<html><body><div id="webkit-xml-viewer-source-xml"><urlset ', b'a="'),
    "viewer-comments": repeated(b'<html><body><div id="webkit-xml-viewer-source-xml"><urlset/>', b"<!--"),
    "viewer-divs": repeated(b"<html>", b"<div id "),
    "viewer-less": repeated(b'<html><body><div id="webkit-xml-viewer-source-xml"><urlset>' + ENTRY, b"<a "),
    # robots.txt
    "robots-sitemaps": numbered(b"", b"Sitemap: https://example.com/%d.xml\n", url=ROBOTS),
    "robots-short": repeated(b"", b"Sitemap:/a\n", url=ROBOTS),
    "robots-directives-in-a-line": repeated(b"", b"Sitemap: ", url=ROBOTS),
    "robots-line-of-urls": repeated(b"Sitemap: ", b"https://example.com/a.xml ", url=ROBOTS),
    "robots-line-of-urls-2": repeated(b"Sitemap: ", b"https://example.com/a.xml", url=ROBOTS),
    "robots-rules": repeated(b"User-agent: *\n", b"Disallow: /a\n", url=ROBOTS),
    "robots-one-line": Hostile(lambda n: b"Sitemap: /" + b"a" * n, ROBOTS),
    "robots-whitespace": Hostile(lambda n: b"Sitemap: a" + b" " * n + b"b", ROBOTS),
    "robots-site-whitespace": Hostile(lambda n: b"sitemap" + b" " * n + b"b", ROBOTS),
    "robots-site-word": Hostile(lambda n: b"sitemap" + b"a" * n + b"b", ROBOTS),
    "robots-google": repeated(b"", b"google ", url=ROBOTS),
    "robots-brs": repeated(b"Sitemap: ", b"<br ", url=ROBOTS),
    "robots-br-whitespace": Hostile(lambda n: b"Sitemap: <br" + b" " * n, ROBOTS),
    "robots-newlines-written": repeated(b"Sitemap: /a", b"\\n  ", url=ROBOTS),
    "robots-newline-whitespace": Hostile(lambda n: b"Sitemap: \\n" + b" " * n + b"x", ROBOTS),
    "robots-tags": repeated(b"Sitemap: /a", b"<a", url=ROBOTS),
    "robots-links": repeated(b"Sitemap: <a ", b"href ", url=ROBOTS),
    "robots-link-whitespace": Hostile(lambda n: b"Sitemap: <a href" + b" " * n, ROBOTS),
    "robots-glued": repeated(b"Sitemap: /a", b" sitemap ", url=ROBOTS),
    "robots-glued-2": repeated(b"Sitemap: http://a.example/a", b"sitemap: http", url=ROBOTS),
    "robots-brackets": repeated(b"Sitemap: ", b"[", url=ROBOTS),
    "robots-markdown": repeated(b"Sitemap: [](", b" ", url=ROBOTS),
    "robots-parameters": repeated(b"Sitemap: http://a.example/", b"?a", url=ROBOTS),
    "robots-dots": repeated(b"Sitemap: http://", b".xml?", url=ROBOTS),
    "robots-xml": repeated(b"Sitemap: http://a.xml", b".xml b ", url=ROBOTS),
    "robots-hashes": repeated(b"Sitemap: /a", b" #", url=ROBOTS),
    "robots-bare": repeated(b"http://", b"sitema", url=ROBOTS),
    "robots-cr": repeated(b"Sitemap: /a", b"\r", url=ROBOTS),
    "robots-long-base": Hostile(
        lambda n: b"Sitemap: /a\n" * (n // 12), "https://example.com/" + "b" * 50_000 + "/robots.txt"
    ),
    "robots-dates": repeated(b"", b"Sitemap: https://example.com/" + b"a" * 200 + b"\n", url=ROBOTS),
    # lists
    "list": numbered(b"", b"https://example.com/%d\n", url=LIST),
    "list-one-line": repeated(b"", b"https://example.com/a ", url=LIST),
    "list-one-line-commas": repeated(b"", b"https://example.com/a,", url=LIST),
    "list-one-line-glued": repeated(b"", b"https://example.com/a", url=LIST),
    "list-one-line-quotes": repeated(b"", b'"https://example.com/a" ', url=LIST),
    "list-one-line-brackets": repeated(b"https://example.com/", b"(", url=LIST),
    "list-brackets-before": repeated(b"https://example.com/a\n", b"(https://example.com/(", url=LIST),
    "list-schemes": repeated(LINE, b"a://", url=LIST),
    "list-scheme": repeated(LINE, b"a", url=LIST),
    "list-scheme-dots": repeated(LINE, b"a.", url=LIST),
    "list-scheme-comma": repeated(LINE, b",a", url=LIST),
    "list-host-names": repeated(LINE, b"a.b-", url=LIST),
    "list-markdown": repeated(LINE, b"[](", url=LIST),
    "list-markdown-2": repeated(LINE + b"[a](http://", b"()", url=LIST),
    "list-markdown-3": repeated(LINE, b"[a", url=LIST),
    "list-markdown-4": repeated(LINE + b"[a](http://a", b"(a", url=LIST),
    "list-markdown-5": repeated(LINE, b"[a](http://a", url=LIST),
    "list-hashes": repeated(LINE + b"http://a.example/", b" #a", url=LIST),
    "list-br": repeated(LINE + b"http://a.example/a", b"<br ", url=LIST),
    "list-br-whitespace": repeated(LINE + b"http://a.example/a<br", b" ", url=LIST),
    "list-br-slash": repeated(LINE, b"http://a.example/<br >  ", url=LIST),
    "list-columns": repeated(b"url,a\n", b"http://a.example/,1\n", url=LIST),
    "list-columns-2": repeated(b"http://a.example/,1", b",1", b"\nhttp://a.example/,1\n", url=LIST),
    "list-columns-3": repeated(b"http://a.example/,2020-01-01", b",2020-01-01", b"x\nhttp://a.example/,1\n", url=LIST),
    "list-columns-space": repeated(b"http://a.example/", b",", b"x\nhttp://a.example/,1\n", url=LIST),
    "list-numbers": repeated(b"1", b",1", b"\nhttp://a.example/,1\n", url=LIST),
    "list-header": Hostile(lambda n: b"url" + b" " * n + b"\nhttp://a.example/\n", LIST),
    "list-parameters": repeated(LINE + b"http://a.example/", b"?a", b"://", url=LIST),
    "list-quotes": repeated(LINE + b"'http://a.example/", b"'a", url=LIST),
    "list-column-before": repeated(LINE + b"http://b,", b"http://a,", url=LIST),
    "list-tabs": repeated(LINE, b"http://a.example/\t", url=LIST),
    "list-semicolons": repeated(LINE + b"http://a.example/", b";", url=LIST),
    "list-line-of-dashes": repeated(LINE, b"- ", url=LIST),
    "list-space-start": repeated(b"", b" \t", b"http://a.example/", url=LIST),
    "list-relative": repeated(LINE, b"/a\n", url=LIST),
    "list-words": repeated(LINE, b"a\n", url=LIST),
    "list-nul": Hostile(lambda n: LINE + b"\0" * n, LIST),
    "list-sniff-blank-lines": repeated(b"x\n", b" \n", url=LIST),
    "list-sniff-whitespace": Hostile(lambda n: b"x\n" + b" " * n, LIST),
    "list-sniff-tabs": Hostile(lambda n: b"x\n" + b"\t" * n, LIST),
    "list-sniff-https": repeated(b"x\n", b"http://a\n", url=LIST),
    "list-sniff-quoted": repeated(b"x\n", b'http://a"', url=LIST),
    "list-sniff-commas": repeated(b"x\n", b",", url=LIST),
    "list-sniff-brackets": repeated(b"x\n", b"[a]", url=LIST),
    "list-sniff-link-columns": repeated(b"x\n", b", https://", url=LIST),
    "list-long-base": Hostile(lambda n: LINE + b"/a\n" * (n // 3), "https://example.com/" + "b" * 50_000 + "/u.txt"),
    "list-dots": repeated(LINE, b"https://example.com/" + b"../" * 1_000 + b"\n", url=LIST),
    "list-escapes": repeated(LINE, b"https://example.com/" + b"%2e" * 1_000 + b"\n", url=LIST),
    "list-not-ascii": repeated(LINE, b"https://example.com/" + "ä".encode() * 1_000 + b"\n", url=LIST),
    "list-idna": repeated(LINE, b"https://" + "ä".encode() * 60 + b".example/\n", url=LIST),
    "list-idna-long": repeated(LINE, b"https://" + "ä".encode() * 3_000 + b"/\n", url=LIST),
    "list-idna-dots": repeated(LINE, b"https://" + "ä.".encode() * 3_000 + b"/\n", url=LIST),
    "list-idna-one": Hostile(lambda n: LINE + b"https://" + "ä".encode() * (n // 2) + b"/\n", LIST),
    "list-ports": repeated(LINE, b"https://example.com:" + b"1" * 1_000 + b"/\n", url=LIST),
    "list-users-port": repeated(LINE + b"https://", b"@", b":x/", url=LIST),
    "list-words-long": repeated(LINE, b"a" * 1_000 + b"\n", url=LIST),
    "list-long-dates": repeated(b"loc,lastmod\n", b"https://example.com/,2005-01-01\n", url=LIST),
    "list-users": repeated(LINE, b"https://a@" + b"a@" * 1_000 + b"/\n", url=LIST),
    "list-authority": repeated(LINE, b"https://" + b"a:" * 1_000 + b"/\n", url=LIST),
    "list-authority-one": repeated(LINE + b"https://", b"a:", url=LIST),
    "list-authority-at": repeated(LINE + b"https://", b"@", url=LIST),
    "list-authority-bracket": repeated(LINE + b"https://[", b"[", url=LIST),
    "list-scheme-in-url": repeated(LINE + b"h", b"ttp-", url=LIST),
    "list-fragment": repeated(LINE, b"https://example.com/#" + b"\x01" * 1_000 + b"\n", url=LIST),
    "list-canonical-dots": repeated(LINE, b"https://" + b"a." * 1_000 + b"/\n", url=LIST),
    "list-canonical-slashes": repeated(LINE, b"https://example.com" + b"/" * 1_000 + b"\n", url=LIST),
    "list-canonical-segments": repeated(LINE, b"https://example.com" + b"/a" * 1_000 + b"^\n", url=LIST),
    "list-canonical-one": repeated(LINE + b"https://example.com", b"/a.", b"^", url=LIST),
    "list-canonical-hyphens": repeated(LINE + b"https://", b"-", b"^", url=LIST),
    # members
    "gzip-20-line": members(_gzip, lambda n: LINE + b"a" * n, 20),
    "gzip-20-list": members(_gzip, lambda n: LINE * (n // 22), 20),
    "gzip-1000-line": members(_gzip, lambda n: LINE + b"a" * n, 1_000),
    "gzip-20-robots": members(_gzip, lambda n: b"Sitemap: /" + b"a" * n, 20, url=ROBOTS),
    "gzip-1-list": members(_gzip, lambda n: LINE * (n // 22), 1),
    "gzip-20-sitemap": members(_gzip, lambda n: ROOT + ENTRY * (n // len(ENTRY)), 20, url=HERE),
    "gzip-20-tag": members(_gzip, lambda n: ROOT + b"<url " + b"a" * n, 20, url=HERE),
    "gzip-20-index": members(_gzip, lambda n: INDEX + b"<sitemap><loc>/a</loc></sitemap>" * (n // 32), 20, url=HERE),
    "gzip-20-mended": members(_gzip, lambda n: ROOT + b"&" + ENTRY * (n // len(ENTRY)), 20, url=HERE),
    "gzip-20-comment": members(_gzip, lambda n: b"<!--" + b"a" * n, 20, url=HERE),
    "gzip-20-doctype": members(_gzip, lambda n: b"<!DOCTYPE urlset [" + b"a" * n, 20, url=HERE),
    "gzip-20-whitespace": members(_gzip, lambda n: b" " * n, 20, url=HERE),
    "gzip-20-json": members(_gzip, lambda n: JSON + b'{"url":"http://a/"},' * (n // 20), 20, url=HERE),
    "gzip-20-json-string": members(_gzip, lambda n: JSON + b'{"url":"' + b"a" * n, 20, url=HERE),
    "gzip-20-json-escapes": members(_gzip, lambda n: JSON + b'{"url":"' + b"\\" * n, 20, url=HERE),
    "gzip-20-json-between": members(_gzip, lambda n: JSON + b"{}" + b"a" * n, 20, url=HERE),
    "gzip-20-json-frame": members(_gzip, lambda n: JSON[:-10] + b'"a":' * (n // 4), 20, url=HERE),
    "gzip-20-page": members(_gzip, lambda n: PAGE + b"<a href=/a>" * (n // 11), 20, url=HERE),
    "gzip-20-page-tag": members(_gzip, lambda n: PAGE + b"<a href=" + b"a" * n, 20, url=HERE),
    "gzip-20-page-text": members(_gzip, lambda n: PAGE + b"<a href=/a>" + b"a" * n, 20, url=HERE),
    "gzip-20-viewer": members(_gzip, lambda n: b"<html><body><pre>" + LINE * (n // 22), 20, url=HERE),
    "gzip-20-viewer-tag": members(
        _gzip, lambda n: b'<html><body><div id="webkit-xml-viewer-source-xml"><urlset ' + b"a" * n, 20, url=HERE
    ),
    "gzip-20-feed": members(_gzip, lambda n: RSS + b"<item><link>/a</link></item>" * (n // 28), 20, url=HERE),
    "gzip-20-feed-text": members(_gzip, lambda n: RSS + b"<item><link>" + b"a" * n, 20, url=HERE),
    "gzip-20-cdata": members(_gzip, lambda n: ROOT + b"&<url><loc><![CDATA[" + b"a" * n, 20, url=HERE),
    "gzip-20-latin-1": members(_gzip, lambda n: LATIN_1 + ROOT + b"<url><loc>" + b"\xe4" * n, 20, url=HERE),
    "gzip-empty-members": Hostile(lambda n: _gzip(b"") * (n // 20) + _gzip(LINE), LIST),
    "gzip-empty-blocks": Hostile(
        lambda n: _gzip(LINE) + b"\x1f\x8b\x08" + b"\0" * 7 + b"\x00\x00\x00\xff\xff" * (n // 5), LIST
    ),
    "gzip-name": Hostile(lambda n: b"\x1f\x8b\x08\x08" + b"\0" * 6 + b"a" * n, LIST),
    "gzip-padding": Hostile(lambda n: _gzip(LINE) + b"\0" * n, LIST),
    "gzip-bad-member": Hostile(
        lambda n: _gzip(LINE) * (n // 40) + b"\x1f\x8b\x08" + b"\0" * 7 + b"\xff" * 16_000, LIST
    ),
    "zstd-20-line": members(inflate.zstd.compress, lambda n: LINE + b"a" * n, 20),
    "zstd-1000-line": members(inflate.zstd.compress, lambda n: LINE + b"a" * n, 1_000),
    "zstd-20-robots": members(inflate.zstd.compress, lambda n: b"Sitemap: /" + b"a" * n, 20, url=ROBOTS),
    "zstd-empty": Hostile(lambda n: inflate.zstd.compress(b"") * (n // 9) + inflate.zstd.compress(LINE), LIST),
    "zstd-skippable": Hostile(
        lambda n: inflate.zstd.compress(LINE) + b"\x50\x2a\x4d\x18\x04\0\0\0aaaa" * (n // 12), LIST
    ),
    "bzip2-20-line": members(bz2.compress, lambda n: LINE + b"a" * n, 20),
    "bzip2-1000-list": members(bz2.compress, lambda n: LINE * (n // 22), 1_000),
    "zlib-20-line": members(zlib.compress, lambda n: LINE + b"a" * n, 20),
    "zip": Hostile(lambda n: _zip(LINE * (n // 22)), LIST),
    "zip-in-gzip": Hostile(lambda n: gzip.compress(_zip(_random(n * 3 // 4), 0) + b"x" * (n // 4), 1), LIST),
    "zip-stored-in-gzip": Hostile(lambda n: gzip.compress(_zip(LINE * (n // 22), 0), 9), LIST),
    "zip-of-files": Hostile(lambda n: _files(n // 100), LIST),
    "brotli-name": Hostile(lambda n: inflate.brotli.compress(LINE * (n // 22)), LIST + ".br"),
    # encodings
    **{
        f"{codec}-{name}": Hostile(
            lambda n, codec=codec, text=text: f'<?xml version="1.0" encoding="{codec}"?>'.encode() + ROOT + text(n)
        )
        for codec in ("iso-2022-jp", "iso-2022-kr", "hz", "shift_jis", "euc-jp", "gb18030", "big5", "utf-16", "koi8-r")
        for name, text in {
            "line": lambda n: b"<url><loc>" + b"a" * n,
            "high": lambda n: b"<url><loc>" + b"\xa4\xa2" * (n // 2),
            "escapes": lambda n: b"<url><loc>" + b'\x1b$B$"' * (n // 5),
            "bad": lambda n: b"<url><loc>" + b"\xff\x80" * (n // 2),
            "tildes": lambda n: b"<url><loc>" + b"~{<:Ky" * (n // 6),
        }.items()
    },
    **{
        f"iso-2022-jp-in-members-{name}": members(
            _gzip,
            lambda n, text=text: b'<?xml version="1.0" encoding="iso-2022-jp"?>' + ROOT + b"<url><loc>" + text(n),
            20,
            url=HERE,
        )
        for name, text in {"line": lambda n: b"\x1b$B" + b"a" * n, "ascii": lambda n: b"a" * n}.items()
    },
    "utf-8-bad": Hostile(lambda n: ROOT + b"<url><loc>" + b"\xff" * n),
    "utf-8-bad-lines": repeated(ROOT, b"<url><loc>http://a.example/\xff</loc></url>"),
    "utf-8-bad-list": repeated(LINE, b"http://a.example/\xff\n", url=LIST),
    "utf-8-cut": Hostile(lambda n: LINE + b"\xe4" * n, LIST),
    "utf-16-mark": Hostile(lambda n: b"\xff\xfe" + ("x\n" * (n // 4)).encode("utf-16-le"), LIST),
    "utf-16-surrogates": Hostile(
        lambda n: b"\xff\xfe" + LINE.decode().encode("utf-16-le") + b"\x00\xd8" * (n // 2), LIST
    ),
    # XML sitemaps
    "sitemap": numbered(ROOT, b"<url><loc>https://example.com/%d</loc></url>", b"</urlset>"),
    "sitemap-relative": repeated(ROOT, b"<url><loc>/a</loc></url>", b"</urlset>"),
    "sitemap-relative-short": repeated(ROOT, b"<url><loc>a</loc></url>", b"</urlset>"),
    "sitemap-relative-mended": repeated(ROOT + b"&", b"<url><loc>a</loc></url>", b"</urlset>"),
    "sitemap-base": Hostile(
        lambda n: ROOT + b"<url><loc>a</loc></url>" * (n // 23), "https://example.com/" + "b" * 50_000 + "/s.xml"
    ),
    "sitemap-empty": repeated(ROOT, b"<url/>"),
    "sitemap-space-locs": repeated(ROOT, b"<url><loc> </loc></url>"),
    "sitemap-locs": repeated(ROOT + b"<url>", b"<loc>a</loc>"),
    "sitemap-loc-of-urls": repeated(ROOT + b"<url><loc>", b"http://a.example/ "),
    "sitemap-loc-of-urls-many": repeated(ROOT, b"<url><loc>http://a http://b</loc></url>"),
    "sitemap-dates": numbered(ROOT, b"<url><loc>http://a.example/</loc><lastmod>Mon, %d</lastmod></url>"),
    "sitemap-long-dates": numbered(ROOT, b"<url><loc>http://a/</loc><lastmod>%d" + b"1" * 110 + b"</lastmod></url>"),
    "sitemap-comment-dates": numbered(
        ROOT, b"<url><loc>http://a/</loc><lastmod>2005-03-09 14:30:15 +0100" + b" " * 80 + b"%d</lastmod></url>"
    ),
    "sitemap-priorities": numbered(ROOT, b"<url><loc>http://a.example/</loc><priority>%d</priority></url>"),
    "sitemap-images": repeated(
        f'<urlset xmlns="{SITEMAPS}" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><url>'.encode() + LOC,
        b"<i:image/>",
    ),
    "sitemap-images-each": repeated(
        f'<urlset xmlns="{SITEMAPS}" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">'.encode(),
        b"<url>" + LOC + b"<i:image/>" * 900 + b"</url>",
    ),
    "sitemap-extra": repeated(ROOT, b"<url>" + LOC + b"<a/>" * 100 + b"</url>"),
    "sitemap-extra-attributes": repeated(
        ROOT, b"<url>" + LOC + b"<a " + b"".join(b'a%d="" ' % n for n in range(5_000)) + b"/></url>"
    ),
    "sitemap-extra-attributes-one-entry": repeated(
        ROOT + b"<url>" + LOC, b"<a " + b"".join(b'a%d="" ' % n for n in range(5_000)) + b"/>"
    ),
    "sitemap-extra-attributes-mended": repeated(
        ROOT + b"&<url>" + LOC, b"<a " + b"".join(b'a%d="" ' % n for n in range(5_000)) + b"/>"
    ),
    "sitemap-extra-values": repeated(ROOT, b"<url>" + LOC + b"<a>" + b"a" * 20_000 + b"</a></url>"),
    "sitemap-extra-values-one-entry": repeated(ROOT + b"<url>" + LOC, b"<a>" + b"a" * 100_000 + b"</a>"),
    "sitemap-wide-values": repeated(ROOT, b"<url>" + LOC + b"<a>" + b"a" * 20_000 + "😀".encode() + b"</a></url>"),
    "sitemap-long-locs": numbered(ROOT, b"<url><loc>https://example.com/%d" + b"a" * 50_000 + b"</loc></url>"),
    "sitemap-long-locs-odd": numbered(ROOT, b"<url><loc>https://example.com/%d" + b"^" * 50_000 + b"</loc></url>"),
    "sitemap-long-locs-mended": numbered(
        ROOT + b"&", b"<url><loc>https://example.com/%d" + b"a" * 50_000 + b"</loc></url>"
    ),
    "sitemap-dates-long": numbered(ROOT, b"<url><loc>http://a/</loc><lastmod>%d" + b"1" * 50_000 + b"</lastmod></url>"),
    "sitemap-many-names": numbered(ROOT, b"<url><loc>a</loc><a%d/></url>"),
    "sitemap-many-names-mended": numbered(ROOT + b"&", b"<url><loc>a</loc><a%d/></url>"),
    "sitemap-long-names": numbered(ROOT + b"&", b"<a%d" + b"a" * 20_000 + b"/>"),
    "sitemap-many-prefixes": numbered(ROOT + b"&", b"<a%d:a/>"),
    "sitemap-namespaces": numbered(ROOT + b"&", b'<url xmlns:a="u%d">' + LOC + b"</url>"),
    "sitemap-namespaces-nested": numbered(ROOT + b"&", b'<a xmlns:a%d="u">'),
    "sitemap-namespaces-strict": numbered(ROOT, b'<a xmlns="u%d"/>'),
    "sitemap-nested-around": repeated(ROOT + b"&", b"<b>" * 64 + b"</c>" * 1_000),
    "sitemap-nested-end": repeated(ROOT + b"&<url>" + b"<b>" * 64, b"</c>"),
    "sitemap-splits": repeated(ROOT + b"<url>", b"<url><loc>a"),
    "sitemap-comments": repeated(ROOT, b"<!---->"),
    "sitemap-comments-open": repeated(ROOT + b"&<!--", b"<!-"),
    "sitemap-prolog-comments": repeated(b"<?xml version='1.0'?>", b"<!---->", ROOT + ENTRY),
    "sitemap-prolog-hyphens": repeated(b"<?xml version='1.0'?><!--", b"- ", ROOT + ENTRY),
    "sitemap-prolog-whitespace": Hostile(lambda n: b"<?xml version='1.0'?>" + b" " * n + ROOT + ENTRY),
    "sitemap-prolog-instructions": repeated(b"<?xml version='1.0'?>", b"<?a?>", ROOT + ENTRY),
    "sitemap-prolog-instruction": repeated(b"<?xml version='1.0'?>", b"<?a ", ROOT + ENTRY),
    "sitemap-prolog-root": Hostile(lambda n: b"<urlset " + b" " * n + b">"),
    "sitemap-prolog-doctypes": repeated(b"<urlset>", b"<!doctype "),
    "sitemap-texts": repeated(ROOT + b"&", b"a<b"),
    "sitemap-stray": repeated(ROOT, b"a" + ENTRY),
    "sitemap-stray-mended": repeated(ROOT + b"&", b"a" + ENTRY),
    "sitemap-text-pieces": repeated(ROOT + b"&", b"<url>" + LOC + b"<a>" + b"a<1" * 40_000 + b"</a></url>"),
    "sitemap-text-tags": repeated(ROOT + b"&", b"<url>" + LOC + b"<a>" + b"<b" * 60_000 + b"</a></url>"),
    "sitemap-text-signs": repeated(ROOT + b"&", b"<url>" + LOC + b"<a>" + b"a&<b" * 30_000 + b"</a></url>"),
    "sitemap-text-ends": repeated(ROOT + b"&", b"<url>" + LOC + b"<a>" + b"</b" * 40_000 + b"</a></url>"),
    "sitemap-namespace-250-many": repeated(
        b'<urlset xmlns="' + b"u" * 250 + b'">', b"<url><loc>http://a/</loc>" + b"<x/>" * 5_000 + b"</url>"
    ),
    "sitemap-values-one-entry-mended": repeated(ROOT + b"&<url>" + LOC, b"<a>" + b"a" * 100_000 + b"</a>"),
    "sitemap-attributes-values": repeated(ROOT + b"&<url>" + LOC, b"<a b='" + b"a" * 200_000 + b"'/>"),
    "sitemap-namespace-nested": repeated(
        ROOT, b"<url>" + LOC + b"<b xmlns='" + b"u" * 100_000 + b"'>" + b"<a/>" * 50_000 + b"</b></url>"
    ),
    "sitemap-namespace-1k": Hostile(
        lambda n: b'<urlset xmlns="' + b"u" * 1_000 + b'">' + b"<url><loc>http://a/</loc><x/></url>" * (n // 35)
    ),
    "sitemap-namespace-1k-many": repeated(
        b'<urlset xmlns="' + b"u" * 1_000 + b'">', b"<url><loc>http://a/</loc>" + b"<x/>" * 5_000 + b"</url>"
    ),
    "sitemap-namespace-1k-many-mended": repeated(
        b'<urlset xmlns="' + b"u" * 1_000 + b'">&', b"<url><loc>http://a/</loc>" + b"<x/>" * 5_000 + b"</url>"
    ),
    "sitemap-lines": repeated(ROOT + b"&<url><loc>", b"\n&"),
    "sitemap-references": repeated(ROOT + b"<url><loc>", b"&#65;"),
    "sitemap-entities": repeated(b"<!DOCTYPE urlset [<!ENTITY a 'b'>]>" + ROOT, b"<url><loc>http://a/&a;</loc></url>"),
    "sitemap-entity-names": repeated(ROOT + b"&", b"<url><loc>http://a/&a;</loc></url>"),
    "sitemap-doctype-whitespace": Hostile(lambda n: b"<!DOCTYPE urlset [" + b"<!ENTITY " + b" " * n),
    "sitemap-doctype-after": Hostile(lambda n: b"<!DOCTYPE urlset []" + b" " * n + ROOT),
    "sitemap-declaration": repeated(b"<?xml ", b" a='' ", ROOT),
    "sitemap-declaration-whitespace": Hostile(lambda n: b"<?xml version='1.0'" + b" " * n + b">" + ROOT),
    "sitemap-declarations": repeated(ROOT + b"&", b"<?xml ?>"),
    "sitemap-end-names": repeated(ROOT + b"&", b"</a "),
    "sitemap-end-whitespace": Hostile(lambda n: ROOT + b"&</" + b" " * n),
    "sitemap-attribute-whitespace": Hostile(lambda n: ROOT + b"&<a b" + b" " * n + b">"),
    "sitemap-attributes-whitespace": repeated(ROOT + b"&", b"<a " + b"b  " * 80_000 + b">"),
    "sitemap-attributes-long": repeated(ROOT + b"&", b"<a " + b" " * 250_000 + b"b>"),
    "sitemap-attributes-bare": repeated(ROOT + b"&", b"<a " + b"b=c" * 80_000 + b">"),
    "sitemap-attributes-equals": repeated(ROOT + b"&", b"<a " + b"=" * 250_000 + b">"),
    "sitemap-attributes-equals-2": repeated(ROOT + b"&", b"<a " + b"a= " * 80_000 + b">"),
    "sitemap-loose": repeated(ROOT + b"&", b"<a '/" + b"/" * 100_000 + b">"),
    "sitemap-controls": Hostile(lambda n: ROOT + b"&<url><loc>" + b"\x01" * n),
    "sitemap-controls-each": repeated(ROOT, b"<url><loc>http://a/\x01</loc></url>"),
    "sitemap-pagemap": repeated(
        ROOT + b'<url xmlns:p="http://www.google.com/schemas/sitemap-pagemap/1.0">' + LOC,
        b"<p:PageMap><p:DataObject>" + b"<p:Attribute/>" * 1_000 + b"</p:DataObject></p:PageMap>",
    ),
    "sitemap-pagemap-nested": repeated(
        ROOT,
        b'<url xmlns:p="http://www.google.com/schemas/sitemap-pagemap/1.0">'
        + LOC
        + b"<p:PageMap>"
        + b"<p:DataObject>" * 60
        + b"</p:DataObject>" * 60
        + b"</p:PageMap></url>",
    ),
    "sitemap-video-nested": repeated(
        ROOT,
        b'<url xmlns:v="http://www.google.com/schemas/sitemap-video/1.1">'
        + LOC
        + b"<v:video>"
        + b"<a>" * 200
        + b"</a>" * 200
        + b"</v:video></url>",
    ),
    "sitemap-nested-values": repeated(ROOT, b"<url>" + LOC + b"<x>" * 200 + b"a" + b"</x>" * 200 + b"</url>"),
    "sitemap-long-prefix": Hostile(
        lambda n: ROOT + b"<url><loc>a</loc>" + b"<" + b"a" * min(n // 2, 9_000_000) + b"/></url>"
    ),
    "sitemap-long-namespace": Hostile(
        lambda n: b'<urlset xmlns="' + b"u" * 5_000 + b'">' + b"<url><loc>http://a/</loc><x/></url>" * (n // 35)
    ),
    "sitemap-long-namespace-mended": Hostile(
        lambda n: b'<urlset xmlns="' + b"u" * 200_000 + b'">&' + b"<url><loc>http://a/</loc><x/></url>" * (n // 35)
    ),
    "sitemap-long-namespace-names": Hostile(
        lambda n: (
            b'<urlset xmlns="'
            + b"u" * 200_000
            + b'">&'
            + b"".join(b"<url><loc>http://a/</loc><x%d/></url>" % k for k in range(n // 40))
        )
    ),
    # indexes
    "index": numbered(INDEX, b"<sitemap><loc>https://example.com/%d</loc></sitemap>", b"</sitemapindex>"),
    "index-short": repeated(INDEX, b"<sitemap><loc>/</loc></sitemap>", b"</sitemapindex>"),
    "index-mended": repeated(INDEX + b"&", b"<sitemap><loc>/</loc></sitemap>", b"</sitemapindex>"),
    "index-dates": numbered(
        INDEX, b"<sitemap><loc>https://example.com/</loc><lastmod>2005-01-01T00:00:%d</lastmod></sitemap>"
    ),
    "index-long": numbered(INDEX, b"<sitemap><loc>https://example.com/%d" + b"a" * 5_000 + b"</loc></sitemap>"),
    "index-base": Hostile(
        lambda n: INDEX + b"<sitemap><loc>a</loc></sitemap>" * (n // 31),
        "https://example.com/" + "b" * 2_000 + "/s.xml",
    ),
    # feeds
    "feed": numbered(RSS, b"<item><link>http://a/%d</link></item>"),
    "feed-relative": repeated(RSS, b"<item><link>a</link></item>"),
    "atom-base": Hostile(
        lambda n: (
            b'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/'
            + b"b" * 100_000
            + b'/">'
            + b"<entry><link href='a'/></entry>" * (n // 31)
        )
    ),
    "atom-base-2k": Hostile(
        lambda n: (
            b'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/'
            + b"b" * 1_900
            + b'/">'
            + b"<entry><link href='a'/></entry>" * (n // 31)
        )
    ),
    "atom-base-chain": repeated(
        ATOM + b'<entry xml:base="http://a.example/">', b'<a xml:base="' + b"a" * 10_000 + b'/"/>'
    ),
    "atom-base-deep": repeated(
        ATOM, b'<entry xml:base="http://a.example/">' + b'<a xml:base="aaaa/">' * 60 + b"</entry>"
    ),
    "atom-base-deep-long": repeated(
        ATOM, b'<entry xml:base="http://a.example/">' + (b'<a xml:base="' + b"a/" * 5_000 + b'">') * 60 + b"</entry>"
    ),
    "atom-base-around": repeated(
        ATOM + b'<a xml:base="http://a.example/' + b"a" * 200_000 + b'/">', b'<b xml:base="b/"></b>'
    ),
    "atom-base-dots": repeated(
        ATOM + b'<a xml:base="http://a.example' + b"/a" * 100_000 + b'/">', b'<b xml:base="../"></b>'
    ),
    "atom-links": repeated(ATOM + b"<entry>", b"<link href='/a'/>"),
    "atom-links-each": repeated(ATOM, b"<entry>" + b"<link href='/a' hreflang='a'/>" * 500 + b"</entry>"),
    "atom-attributes": repeated(
        ATOM + b"<entry><link href='http://a/'/>", b"<x " + b"".join(b'a%d="" ' % n for n in range(5_000)) + b"/>"
    ),
    "atom-broken-address": repeated(ATOM + b"<entry>", b'<link href="' + b' href="' * 30_000 + b"/>"),
    "atom-broken-address-2": repeated(ATOM + b"<entry>", b'<link href="' + b'a="' * 80_000 + b"/>"),
    "atom-broken-address-3": repeated(ATOM + b"<entry>", b'<link href=""' + b"a" * 250_000 + b"/>"),
    "atom-broken-address-4": repeated(ATOM + b"<entry>", b"<link " + b" href='" + b"a' a" * 60_000 + b"/>"),
    "atom-broken-address-5": repeated(ATOM + b"<entry>", b"<link " + b"href " + b" " * 250_000 + b"/>"),
    "atom-broken-address-6": repeated(ATOM + b"<entry>", b"<link " + b"href = " * 30_000 + b"/>"),
    "feed-titles": repeated(
        RSS, b"<item><title type='html'>" + b"&lt;a " * 10_000 + b"</title><link>http://a/</link></item>"
    ),
    "feed-title-html": repeated(
        RSS, b"<item><title type='html'>" + b"&lt;!--" * 10_000 + b"</title><link>http://a/</link></item>"
    ),
    "feed-title-references": repeated(
        RSS, b"<item><title type='html'>" + b"&amp;a" * 10_000 + b"</title><link>http://a/</link></item>"
    ),
    "feed-long-titles": repeated(RSS, b"<item><title>" + b"a" * 60_000 + b"</title><link>http://a/</link></item>"),
    "feed-many-values": repeated(RSS, b"<item><link>http://a/</link>" + b"<a>a</a>" * 9_000 + b"</item>"),
    "feed-links-text": repeated(RSS + b"<item>", b"<link>a"),
    "feed-bodies": repeated(RSS + b"<item>", b"<description>a</description>"),
    "feed-body-nested": repeated(RSS + b"<item><description>", b"<description>"),
    "feed-around": repeated(b"<rss>" + b"<a>" * 60, b"</b>"),
    "feed-unclosed": repeated(RSS, b"<item>"),
    "feed-unclosed-values": repeated(RSS, b"<item>" + b"<link><a>" * 30),
    "feed-fill-link": repeated(RSS + b"<item><link/>", b"a&"),
    "feed-tail-link": repeated(RSS + b"<item><link/>", b"http://a/&a;"),
    "feed-about": repeated(b"<rdf:RDF>", b"<item rdf:about='http://a/'/>"),
    "feed-names": numbered(RSS, b"<item><link>http://a/</link><a%d/></item>"),
    # JSON
    "json": numbered(JSON, b'{"url":"http://a/%d"},'),
    "json-relative": repeated(JSON, b'{"url":"a"},'),
    "json-without-commas": repeated(JSON, b'{"url":"http://a/"}'),
    "json-empty-items": repeated(JSON, b"{}"),
    "json-empty-items-commas": repeated(JSON, b"{},"),
    "json-closing": repeated(JSON, b"}"),
    "json-opening": repeated(JSON, b"["),
    "json-brackets": repeated(JSON, b"[]"),
    "json-item-lists": repeated(JSON + b"]", b',"items":[]'),
    "json-deep": repeated(JSON, b'{"url":"http://a/","a":' + b"[" * 900 + b"]" * 900 + b"},"),
    "json-deep-objects": repeated(JSON, b'{"url":"http://a/","a":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"},"),
    "json-deeper": repeated(JSON, b'{"url":"http://a/","a":' + b"[" * 100_000 + b"]" * 100_000 + b"},"),
    "json-names": repeated(JSON, b'{"url":"http://a/"' + b"".join(b',"a%d":1' % n for n in range(5_000)) + b"},"),
    "json-same-names": repeated(JSON, b'{"url":"http://a/"' + b',"a":1' * 5_000 + b"},"),
    "json-list": repeated(JSON, b'{"url":"http://a/","a":[' + b"1," * 50_000 + b"1]},"),
    "json-list-one": repeated(JSON + b'{"url":"http://a/","a":[', b"1,", b"1]}]}"),
    "json-list-objects": repeated(JSON, b'{"url":"http://a/","a":[' + b'{"":1},' * 500_000 + b"1]},"),
    "json-list-texts": repeated(JSON, b'{"url":"http://a/","a":[' + b'"a",' * 900_000 + b"1]},"),
    "json-list-lists": repeated(JSON, b'{"url":"http://a/","a":[' + b"[]," * 1_000_000 + b"1]},"),
    "json-long": repeated(JSON, b'{"url":"http://a/","a":"' + b"a" * 3_900_000 + b'"},'),
    "json-long-title": repeated(JSON, b'{"url":"http://a/","title":"' + b"a" * 50_000 + b'"},'),
    "json-errors": repeated(JSON, b'{"url"},'),
    "json-errors-long": repeated(JSON, b'{"a":"' + b"a" * 100_000 + b'" "},'),
    "json-controls": repeated(JSON, b'{"url":"http://a/\n"},'),
    "json-surrogates": repeated(JSON, b'{"url":"http://a/\\ud800"},'),
    "json-numbers": repeated(JSON, b'{"url":"http://a/","a":' + b"1" * 100_000 + b"},"),
    "json-frame": repeated(b'{"version":"https://jsonfeed.org/version/1","a":', b"[", b""),
    "json-frame-deep": Hostile(
        lambda n: (
            b'{"version":"https://jsonfeed.org/version/1","a":'
            + b"[" * 100_000
            + b"]" * 100_000
            + b',"items":['
            + b'{"url":"http://a/"},' * (n // 20)
            + b"{}]}"
        )
    ),
    "json-frame-number": Hostile(
        lambda n: b'{"version":"https://jsonfeed.org/version/1","a":' + b"1" * n + b',"items":[{"url":"http://a/"}]}'
    ),
    "json-whitespace": Hostile(lambda n: JSON + b" " * n + b"]}"),
    "json-escapes": repeated(JSON + b'{"url":"', b'\\"'),
    "json-sniff": repeated(b'{"version"', b" "),
    "json-sniff-2": repeated(b"[", b'"}<a'),
    "json-sniff-3": repeated(b"[", b"]<"),
    "json-sniff-whitespace": Hostile(lambda n: b"[" + b" " * n + b"<a>"),
    "json-sniff-closing": Hostile(lambda n: b'["' + b"]" * n + b"<a>"),
    # detection of the kind
    "sniff-comments": repeated(b"<!-- -->", b"<!-- -->"),
    "sniff-comments-open": repeated(b"<!--", b"<!--"),
    "sniff-tags": repeated(b"<x>", b"<x>"),
    "sniff-instructions": repeated(b"", b"<?a ?>"),
    "sniff-instructions-2": repeated(b"", b"<?a>"),
    "sniff-instructions-open": repeated(b"<a>", b"<?a "),
    "sniff-instructions-xml": repeated(b"<a>", b"<?xml "),
    "sniff-cdata": repeated(b"<a>", b"<![CDATA["),
    "sniff-script": repeated(b"<a>", b"<script"),
    "sniff-script-2": repeated(b"<a>", b"<script>"),
    "sniff-html-end": repeated(b"<html>", b"</html"),
    "sniff-html-end-whitespace": Hostile(lambda n: b"<html>" + b"</html" + b" " * n),
    "sniff-html-after": Hostile(lambda n: b"<html></html>" + b" " * n + b"<"),
    "sniff-html-after-xml": Hostile(lambda n: b"<html></html><?xml " + b" " * n + b"<"),
    "sniff-doctype": repeated(b"<a>", b"<!doctype "),
    "sniff-doctype-whitespace": Hostile(lambda n: b"<a><!doctype" + b" " * n),
    "sniff-names": Hostile(lambda n: b"<" + b"a." * (n // 2)),
    "sniff-robots": repeated(b"x\n", b"user-agent \n"),
    "sniff-robots-whitespace": Hostile(lambda n: b"x\n" + b"\t \t " * (n // 4) + b"x"),
    "sniff-br": repeated(b"http://a", b"<br "),
    "sniff-br-whitespace": Hostile(lambda n: b"http://a<br" + b" " * n),
    "sniff-less": repeated(b"x", b"<"),
    "sniff-pis": repeated(b"<?a", b"?><?a"),
    "sniff-entity": repeated(b"<!ENTITY", b"<!ENTITY"),
    "sniff-meta": repeated(b"<html>", b"<meta a"),
    "sniff-xml-encoding": repeated(b"<?xml ", b"encoding "),
    "sniff-xml-encoding-whitespace": Hostile(lambda n: b"<?xml encoding" + b" " * n),
    "sniff-json-items": repeated(b'{"items":', b'"version" '),
    "sniff-json-version": Hostile(lambda n: b'{"version"' + b" " * n),
    "sniff-json-versions": repeated(b"{", b'"version"   '),
    "sniff-link-lines": repeated(b"x\n", b"a-", url=LIST),
    "sniff-link-brackets": repeated(b"x\n", b"[ab\n", url=LIST),
    "binary": Hostile(lambda n: b"\0\x01\x02\x03" * (n // 4)),
}


def _files(count: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(max(1, count)):
            archive.writestr(f"{number}.txt", LINE)
    return file.getvalue()


def cost(document: Hostile, size: int, *, cpu_seconds: int = 20, gigabytes: int = 6) -> Cost | None:
    """Return the cost of reading *document* in a separate process; ``None`` if the process is killed.

    The limits of the process are *cpu_seconds* and *gigabytes*.
    """
    name = next(key for key, value in DOCUMENTS.items() if value is document)
    ours, theirs = FORKSERVER.Pipe(duplex=False)
    process = FORKSERVER.Process(target=_measure, args=(name, size, cpu_seconds, gigabytes, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        return Cost(*ours.recv())
    except EOFError:
        return None
    finally:
        process.join()


def _measure(name: str, size: int, cpu_seconds: int, gigabytes: int, pipe: object) -> None:
    for _ in read(LINE, url=LIST).rows():
        pass
    body, url = DOCUMENTS[name].make(size), DOCUMENTS[name].url
    slow_before, used = slowdown(), int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + cpu_seconds, used + cpu_seconds))
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before, started = _status("VmRSS"), time.process_time()
    document = read(body, url=url)
    entries = sum(len(batch) for batch in document.urls()) + sum(1 for _ in document.sitemaps())
    codes = tuple(problem.code for problem in document.problems)
    seconds = time.process_time() - started
    megabytes = (_status("VmHWM") - before) / 1000
    slow = (slow_before + slowdown()) / 2
    pipe.send((seconds / slow, document.bytes_unpacked, megabytes, codes, entries))  # type: ignore[attr-defined]


def _status(name: str) -> int:
    """Return the line *name* of the process's status, in kB."""
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=MB)
    parser.add_argument("--above", type=float, default=0, help="leave out what costs less than so many s/MB")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    names = [name for name in DOCUMENTS if not given.names or any(re.match(one, name) for one in given.names)]
    for name in names:
        found = cost(DOCUMENTS[name], given.bytes)
        if found is None:
            print(f"{name:40} not over", flush=True)  # noqa: T201 - it is a command
        elif found.seconds_per_mb >= given.above or found.mb > 150:
            words = " ".join(found.codes)
            figures = f"{found.seconds_per_mb:8.2f} s/MB {found.mb:8.0f} MB {found.entries:9}"
            print(f"{name:40} {figures} {words}", flush=True)  # noqa: T201 - the same


if __name__ == "__main__":
    main()
