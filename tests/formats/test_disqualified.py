"""Text that disqualifies a URL: no entry, a problem, and an incomplete document, in every format."""

from __future__ import annotations

import json

import pytest

from sitemap_harvest import read
from sitemap_harvest.model import Alternate
from tests.documents import HERE, SITEMAPS, codes, index, locs, urlset

SITE = "https://example.com/"
A = f"{SITE}a"
CONTROL, TEMPLATE, NUL = "loc/control-character", "loc/template", "document/nul-bytes"


def _atom(text: str) -> bytes:
    entries = "".join(f'<entry><link href="{url}"/></entry>' for url in (A, text))
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()


def _json(items: str) -> bytes:
    return f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{items}]}}'.encode()


_ALTERNATES = (
    f'<urlset xmlns="{SITEMAPS}" xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>{A}</loc>'
    f'<xhtml:link rel="alternate" hreflang="de" href="{SITE}de"/></url></urlset>'
).encode()
FORMATS = {
    "sitemap": (HERE, lambda text: urlset(f"<url><loc>{A}</loc></url><url><loc>{text}</loc></url>")),
    "index": (HERE, lambda text: index(f"<sitemap><loc>{A}</loc></sitemap><sitemap><loc>{text}</loc></sitemap>")),
    "list": (f"{SITE}list.txt", lambda text: f"{A}\n{text}\n".encode()),
    "robots": (f"{SITE}robots.txt", lambda text: f"Sitemap: {A}\nSitemap: {text}\n".encode()),
    "rss": (HERE, lambda text: f"<rss><channel><item><link>{A}</link></item><item><link>{text}</link></item>".encode()),
    "atom": (HERE, _atom),
    "json": (HERE, lambda text: _json(json.dumps({"url": A}) + "," + json.dumps({"url": text}))),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(f"{SITE}b\0\0\0", CONTROL, id="nul-behind"),
        pytest.param(f"{SITE}b\0\0\0c", CONTROL, id="nul-inside"),
        pytest.param(f"{SITE}b\x01c", CONTROL, id="control-character"),
        pytest.param(f"{SITE}b\x7f", CONTROL, id="delete"),
        pytest.param("{{ site.url }}{{ page.url }}", TEMPLATE, id="braces"),
        pytest.param(f"{SITE}{{{{ page.url }}}}", TEMPLATE, id="braces-behind-a-host"),
        pytest.param("{% url page %}", TEMPLATE, id="tag"),
        pytest.param("${base}/b", TEMPLATE, id="dollar"),
        pytest.param("%%URL%%", TEMPLATE, id="placeholder"),
    ],
)
def test_a_disqualified_url_has_no_entry_and_the_document_is_not_complete(name: str, text: str, code: str) -> None:
    url, body = FORMATS[name]
    document = read(body(text), url=url)
    assert [*locs(document), *(ref.loc for ref in document.sitemaps())] == [A]
    assert codes(document)[code] == 1
    assert not document.complete


@pytest.mark.parametrize("name", ["sitemap", "index", "rss", "list", "robots"])
@pytest.mark.parametrize("text", [f"{SITE}<?= $path ?>", f"{SITE}<?php echo $path; ?>/b", "<?PHP echo $url; ?>"])
def test_source_code_is_no_part_of_a_url(name: str, text: str) -> None:
    url, body = FORMATS[name]
    document = read(body(text), url=url)
    assert [*locs(document), *(ref.loc for ref in document.sitemaps())] == [A]
    assert codes(document)[TEMPLATE] == 1
    assert not document.complete


@pytest.mark.parametrize("name", ["sitemap", "index", "list", "robots"])
def test_template_tags_are_no_url(name: str) -> None:
    url, body = FORMATS[name]
    document = read(body("<%= root %>/b"), url=url)
    assert [*locs(document), *(ref.loc for ref in document.sitemaps())] == [A]
    assert codes(document)[TEMPLATE] == 1
    assert not document.complete


@pytest.mark.parametrize(
    ("body", "url", "last"),
    [
        pytest.param(urlset(f"<url><loc>{A}</loc></url>\0\0<url><loc>{SITE}b</loc></url>"), HERE, 1, id="sitemap"),
        pytest.param(urlset(f"<url><loc>{A}</loc><las\0\0></url>"), HERE, 0, id="tag"),
        pytest.param(f"{A}\n\0\0\0\n".encode(), f"{SITE}list.txt", 1, id="list"),
        pytest.param(f"Sitemap: {A}\n\0\0\0".encode(), f"{SITE}robots.txt", 1, id="robots"),
        pytest.param(f"<rss><channel><item><link>{A}</link></item>\0</channel></rss>".encode(), HERE, 1, id="rss"),
        pytest.param(_json(f'{{"url": "{A}"}}\0'), HERE, 1, id="json"),
        pytest.param(_atom(A).replace(b"2005", b"20\0\0"), HERE, 0, id="namespace-of-feed"),
        pytest.param(_ALTERNATES.replace(b"1999", b"19\0\0"), HERE, 0, id="namespace-of-alternates"),
    ],
)
def test_entries_are_missing_at_nul_bytes(body: bytes, url: str, last: int) -> None:
    document = read(body, url=url)
    assert codes(document)[NUL] == 1
    assert (document.complete, document.last_sound_position) == (False, last)


def test_a_usual_prefix_keeps_its_meaning_if_its_namespace_has_control_characters() -> None:
    document = read(_ALTERNATES.replace(b"1999", b"19\x01\x02"), url=HERE)
    (entry,) = document.rows()
    assert (entry.alternates, entry.extra) == ((Alternate(href=f"{SITE}de", hreflang="de"),), None)
    assert codes(document) == {
        "xml/not-well-formed": 1,
        "xml/control-character": 2,
        "xml/bad-attributes": 1,
        "xml/undeclared-prefix": 1,
    }


def test_control_characters_in_an_attribute_are_a_problem() -> None:
    document = read(_ALTERNATES.replace(b"/de", b"/\x01de"), url=HERE)
    (entry,) = document.rows()
    assert entry.alternates == (Alternate(href=f"{SITE}\x01de", hreflang="de"),)
    assert codes(document) == {"xml/not-well-formed": 1, "xml/control-character": 1}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(urlset(f"<url><loc>{A}</loc></url>") + b"\0" * 100, id="sitemap"),
        pytest.param(f"<rss><channel><item><link>{A}</link></item></channel></rss>\0\0".encode(), id="rss"),
        pytest.param(_json(f'{{"url": "{A}"}}') + b"\0\0", id="json"),
    ],
)
def test_nul_bytes_after_the_end_are_padding(body: bytes) -> None:
    document = read(body, url=HERE)
    assert locs(document) == [A]
    assert document.complete
