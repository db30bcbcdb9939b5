"""The extensions, in the strict parser and in the recovering one alike."""

from __future__ import annotations

from typing import Any

import pytest

from sitemap_harvest import read
from sitemap_harvest.model import Alternate, Attribute, DataObject, Extra, Image, News, Price, Restriction, Video
from tests.documents import HERE, urlset
from tests.formats.xml.sitemaps import NAMESPACES

IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.mark.parametrize("flaw", [pytest.param(b"", id="strict"), pytest.param(b"&", id="mending")])
@pytest.mark.parametrize(
    ("element", "columns"),
    [
        pytest.param(
            "<image:image><image:loc> https://e.x/a.png </image:loc><image:title>A &amp; B</image:title></image:image>",
            {"images": (Image(loc="https://e.x/a.png", title="A & B"),)},
            id="image",
        ),
        pytest.param("<image:image/>", {"images": (Image(),)}, id="image-without-anything"),
        pytest.param(
            "<image:image><image:loc>a</image:loc><image:loc>b</image:loc><image:x y='1'/></image:image>",
            {
                "images": (Image(loc="a"),),
                "extra": (
                    Extra(name=f"{IMAGE}image"),
                    Extra(name=f"{IMAGE}loc", depth=1, text="b"),
                    Extra(name=f"{IMAGE}x", depth=1, attributes=(Attribute(name="y", value="1"),)),
                ),
            },
            id="image-with-more-than-it-can-hold",
        ),
        pytest.param(
            "<video:video><video:title>T</video:title><video:price currency='EUR'>1</video:price>"
            "<video:price currency='USD' type='own' resolution='hd' x='y'>2</video:price>"
            "<video:restriction relationship='allow'>DE</video:restriction><video:platform>tv</video:platform>"
            "<video:tag>a</video:tag><video:tag>b</video:tag><video:uploader info='i'>U</video:uploader>"
            "<video:gallery_loc title='G'>g</video:gallery_loc><video:title>again</video:title>"
            "<video:tvshow><video:episode n='1'>7</video:episode></video:tvshow></video:video>",
            {
                "videos": (
                    Video(
                        title="T",
                        prices=(
                            Price(value="1", currency="EUR"),
                            Price(value="2", currency="USD", type="own", resolution="hd"),
                        ),
                        restriction=Restriction(relationship="allow", value="DE"),
                        platform=Restriction(value="tv"),
                        tags=("a", "b"),
                        uploader="U",
                        uploader_info="i",
                        gallery_loc="g",
                        gallery_title="G",
                        other=(
                            Attribute(name="price@x", value="y"),
                            Attribute(name="title", value="again"),
                            Attribute(name="tvshow/episode@n", value="1"),
                            Attribute(name="tvshow/episode", value="7"),
                        ),
                    ),
                )
            },
            id="video",
        ),
        pytest.param(
            "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language></news:publication>"
            "<news:genres>Blog</news:genres><news:stock_tickers>A:B</news:stock_tickers></news:news>",
            {"news": (News(publication_name="N", publication_language="en", genres="Blog", stock_tickers="A:B"),)},
            id="news",
        ),
        pytest.param(
            "<xhtml:link rel='ALTERNATE' hreflang='de' href='/de'/><xhtml:link hreflang='fr' href='/fr'></xhtml:link>",
            {"alternates": (Alternate(href="/de", hreflang="de"), Alternate(href="/fr", hreflang="fr"))},
            id="alternates",
        ),
        pytest.param(
            "<xhtml:link rel='alternate' type='application/rss+xml' media='print' href='/f'/>",
            {"alternates": (Alternate(href="/f", type="application/rss+xml", media="print"),)},
            id="alternate-of-another-type",
        ),
        pytest.param(
            "<xhtml:link rel='canonical' href='/c'/>",
            {
                "extra": (
                    Extra(
                        name=f"{XHTML}link",
                        attributes=(Attribute(name="rel", value="canonical"), Attribute(name="href", value="/c")),
                    ),
                )
            },
            id="link-that-is-no-alternate",
        ),
        pytest.param("<mobile:mobile/>", {"mobile": True}, id="mobile"),
        pytest.param(
            '<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><DataObject type="t" id="i">'
            '<Attribute name="a">1</Attribute><Attribute name="b" value="2"/></DataObject><DataObject/></PageMap>',
            {
                "pagemap": (
                    DataObject(
                        type="t", id="i", attributes=(Attribute(name="a", value="1"), Attribute(name="b", value="2"))
                    ),
                    DataObject(),
                )
            },
            id="pagemap",
        ),
        pytest.param(
            "<x:a xmlns:x='urn:x' x:b='1' c='2'> t <x:d><e>f</e></x:d><x:d/></x:a><g>h</g>",
            {
                "extra": (
                    Extra(
                        name="{urn:x}a",
                        text="t",
                        attributes=(Attribute(name="{urn:x}b", value="1"), Attribute(name="c", value="2")),
                    ),
                    Extra(name="{urn:x}d", depth=1),
                    Extra(name="{http://www.sitemaps.org/schemas/sitemap/0.9}e", depth=2, text="f"),
                    Extra(name="{urn:x}d", depth=1),
                    Extra(name="{http://www.sitemaps.org/schemas/sitemap/0.9}g", text="h"),
                )
            },
            id="what-nobody-knows",
        ),
    ],
)
def test_extension(element: str, columns: dict[str, Any], flaw: bytes) -> None:
    body = urlset(f"<url><loc>https://example.com/a</loc>{element}</url>", NAMESPACES)
    (row,) = read(flaw + body, url=HERE).rows()
    names = ("alternates", "images", "videos", "news", "mobile", "pagemap", "extra")
    assert {name: getattr(row, name) for name in names} == dict.fromkeys(names) | columns


def test_a_usual_prefix_has_its_usual_meaning_without_a_namespace() -> None:
    element = "<image:image><image:loc>https://e.x/a.png</image:loc></image:image>"
    (row,) = read(urlset(f"<url><loc>https://example.com/a</loc>{element}</url>"), url=HERE).rows()
    assert row.images == (Image(loc="https://e.x/a.png"),)
