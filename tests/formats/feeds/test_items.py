from __future__ import annotations

import pytest

from sitemap_harvest import UrlEntry, read
from sitemap_harvest.model.entry import Alternate, Attribute, Extra, Image
from tests.documents import HERE, codes

A, B = "https://example.com/a", "https://example.com/b"
ATOM = "http://www.w3.org/2005/Atom"


def rss(inside: str, attributes: str = "") -> UrlEntry:
    return next(read(f"<rss><channel><item{attributes}>{inside}</item></channel></rss>".encode(), url=HERE).rows())


def atom(inside: str) -> UrlEntry:
    return next(read(f"<feed xmlns='{ATOM}'><entry>{inside}</entry></feed>".encode(), url=HERE).rows())


def link(**attributes: str) -> str:
    return "<link " + " ".join(f"{name}='{value}'" for name, value in attributes.items()) + "/>"


ALTERNATE = link(rel="alternate", href=A)


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param(link(href=A), id="no-relation"),
        pytest.param(link(rel="Alternate", href=A), id="upper-case"),
        pytest.param(link(rel="http://www.iana.org/assignments/relation/alternate", href=A), id="relation-in-full"),
        *(
            pytest.param(link(rel=relation, href=B) + ALTERNATE, id=relation)
            for relation in ("edit", "self", "enclosure", "related", "via", "replies", "service.edit")
        ),
        pytest.param(link(href=A) + link(href=B), id="first-of-equals"),
        pytest.param(link(type="text/plain", href=B) + link(type="text/html; charset=utf-8", href=A), id="web-page"),
        pytest.param(link(type="text/plain", href=B) + link(href=A), id="no-type-is-a-web-page"),
        pytest.param(link(type="text/plain", href=A) + link(type="application/json", href=B), id="no-web-page"),
        pytest.param(link(hreflang="de", href=B) + link(href=A), id="no-language-first"),
        pytest.param(f"<id>{B}</id>" + ALTERNATE, id="link-before-id"),
        pytest.param(f"<id>{A}</id>" + link(rel="self", href=B), id="id"),
    ],
)
def test_the_page_of_an_atom_entry(inside: str) -> None:
    assert atom(inside).loc == A


@pytest.mark.parametrize(
    ("inside", "attributes"),
    [
        pytest.param(f"<link>{A}</link><atom:link href='{B}'/>", "", id="own-link-before-that-of-atom"),
        pytest.param(f"<atom:link href='{B}'/><link>{A}</link>", "", id="own-link-behind-that-of-atom"),
        pytest.param(f"<guid>{B}</guid><atom:link href='{A}'/>", "", id="link-of-atom-before-guid"),
        pytest.param(f"<atom:link rel='self' href='{B}'/><guid>{A}</guid>", "", id="self-is-no-page"),
        pytest.param(f"<guid isPermaLink='true'>{A}</guid>", "", id="guid"),
        pytest.param(f"<guid ispermalink='TRUE'> {A} </guid>", "", id="guid-in-another-case"),
        pytest.param(f"<guid>{B}</guid><link>{A}</link>", "", id="link-before-guid"),
        pytest.param("", f" rdf:about='{A}'", id="about"),
        pytest.param(f"<link>{A}</link>", f" rdf:about='{B}'", id="link-before-about"),
        pytest.param(f"<feedburner:origLink>{A}</feedburner:origLink><link>{B}</link>", "", id="feedburner"),
        pytest.param(f"<link>{B}</link><pheedo:origLink>{A}</pheedo:origLink>", "", id="pheedo"),
        pytest.param(f"<link>{A}</link><feedburner:origLink>7</feedburner:origLink>", "", id="original-is-no-url"),
        pytest.param(
            f"<media:content url='{B}'><media:link>{B}</media:link></media:content><link>{A}</link>", "", id="media"
        ),
        pytest.param(f"<image><link>{B}</link></image><link>{A}</link>", "", id="link-of-an-image"),
        pytest.param(f"<source><link>{B}</link></source><link>{A}</link>", "", id="link-of-a-source"),
    ],
)
def test_the_page_of_an_rss_item(inside: str, attributes: str) -> None:
    assert rss(inside, attributes).loc == A


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param("<guid>urn:uuid:1</guid>", id="urn"),
        pytest.param("<guid>a</guid>", id="relative-guid"),
        pytest.param(f"<guid isPermaLink='false'>{A}</guid>", id="guid-is-no-link"),
        pytest.param(f"<guid isPermaLink='no'>{A}</guid>", id="guid-that-says-nothing-known"),
        pytest.param(f"<enclosure url='{A}'/><comments>{A}</comments>", id="what-belongs-to-a-page"),
        pytest.param("<id>tag:example.com,2025:1</id>", id="tag"),
    ],
)
def test_no_page(inside: str) -> None:
    document = read(f"<rss><channel><item>{inside}</item></channel></rss>".encode(), url=HERE)
    assert codes(document) == {"feed/no-link": 1, "document/no-entries": 1}


@pytest.mark.parametrize(
    ("inside", "date", "others"),
    [
        pytest.param("<pubDate>2025-01-02</pubDate><dc:date>2025-01-01</dc:date>", "2025-01-02", 1, id="published"),
        pytest.param(
            "<pubDate>2025-01-01</pubDate><atom:updated>2025-01-02</atom:updated>", "2025-01-02", 1, id="updated"
        ),
        pytest.param(
            "<dc:date>2025-01-01</dc:date><dcterms:modified>2025-01-02</dcterms:modified>", "2025-01-02", 1, id="dublin"
        ),
        pytest.param(
            "<dcterms:issued>2025-01-02</dcterms:issued><dcterms:created>2025-01-01</dcterms:created>",
            "2025-01-02",
            1,
            id="issued",
        ),
        pytest.param(
            "<pubDate>2025-01-02</pubDate><pubDate>2025-01-01</pubDate>", "2025-01-02", 1, id="first-of-equals"
        ),
        pytest.param("<pubDate></pubDate><dc:date>2025-01-02</dc:date>", "2025-01-02", 1, id="empty-is-passed-over"),
        pytest.param("<source><updated>2025-01-01</updated></source>", None, 2, id="of-something-else"),
        pytest.param("<video:publication_date>2025-01-01</video:publication_date>", None, 1, id="of-a-video"),
    ],
)
def test_the_modification_date_has_priority_and_other_dates_are_kept(
    inside: str, date: str | None, others: int
) -> None:
    entry = rss(f"<link>{A}</link>{inside}")
    assert entry.lastmod_text == date
    assert len(entry.extra or ()) == others


@pytest.mark.parametrize(
    ("title", "text"),
    [
        pytest.param("<title>Salt &amp;amp; &lt;b&gt;pepper&lt;/b&gt;</title>", "Salt &amp; <b>pepper</b>", id="text"),
        pytest.param("<title type='html'>Salt &amp;amp; &lt;b&gt;pepper&lt;/b&gt;</title>", "Salt & pepper", id="html"),
        pytest.param("<title type='html'><![CDATA[1 < 2 &amp; <i>3</i>]]></title>", "1 < 2 & 3", id="html-in-cdata"),
        pytest.param(
            "<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>Salt <b>&amp;</b> p</div></title>",
            "Salt & p",
            id="xhtml",
        ),
        pytest.param("<title> </title>", None, id="space"),
        pytest.param("<media:title>none</media:title>", None, id="of-a-medium"),
    ],
)
def test_titles(title: str, text: str | None) -> None:
    assert atom(ALTERNATE + title).title == text


def test_links_in_a_language_are_alternates_and_other_links_are_kept() -> None:
    entry = atom(
        link(href=A, hreflang="en", type="text/html")
        + link(rel="alternate", href="/de", hreflang="de", media="print", title="Deutsch")
        + link(rel="enclosure", href="/a.mp3", length="7")
    )
    assert entry.alternates == (
        Alternate(href=A, hreflang="en", type="text/html"),
        Alternate(href="/de", hreflang="de", media="print"),
    )
    assert [[attribute.value for attribute in extra.attributes or ()] for extra in entry.extra or ()] == [
        ["alternate", "/de", "de", "print", "Deutsch"],
        ["enclosure", "/a.mp3", "7"],
    ]


def test_other_elements_of_an_item_are_kept_with_their_nesting_except_the_text_of_the_page() -> None:
    entry = rss(
        f"<link>{A}</link><author>A</author><media:group><media:content url='{B}'/></media:group>"
        "<description>D</description><content:encoded>E</content:encoded><itunes:summary>S</itunes:summary>",
        " rdf:about='urn:1' xml:lang='en'",
    )
    about = Attribute(name="{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about", value="urn:1")
    language = Attribute(name="{http://www.w3.org/XML/1998/namespace}lang", value="en")
    media = "{http://search.yahoo.com/mrss/}"
    assert entry.extra == (
        Extra(name="item", attributes=(about, language)),
        Extra(name="author", text="A"),
        Extra(name=f"{media}group"),
        Extra(name=f"{media}content", depth=1, attributes=(Attribute(name="url", value=B),)),
    )


def test_sitemap_extensions_have_their_columns_in_feeds_too() -> None:
    entry = rss(f"<link>{A}</link><image:image><image:loc>{B}</image:loc></image:image>")
    assert (entry.images, entry.extra) == ((Image(loc=B),), None)
