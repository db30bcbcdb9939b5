"""Random well-formed sitemaps: as generators write them, and odd ones."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

from tests.documents import SITEMAPS

_PLACE = re.compile(r"[<>/]|[a-z](?=[a-z]{2})")
WHITESPACE = st.sampled_from(["", "\n", "\n  ", " ", "\r\n\t"])
PATHS = st.text(
    st.sampled_from("abz09/.-_~%?=&;é日 '\"<>\u00a0") | st.characters(codec="utf-8", categories=["L"]), max_size=10
)
LOCS = st.one_of(
    PATHS.map(lambda path: f"https://example.com/{path}"),
    st.sampled_from(
        [
            "https://example.com/a?b=1&c=2",
            "/relative",
            "www.example.com/a",
            "ftp://example.com/",
            " https://example.com/spaces ",
            "https://example.com/&amp;",
            "          ",
            "\n\t \r\n\n\n\n\n\n",
            "\r\n  https://example.com/lines\r\n",
            "https://example.com/a\rb\tc\n",
            "\u00a0\u00a0\u00a0\u00a0",
            "mailto:me@example.com",
            "x",
        ]
    ),
)
VALUES = {
    "lastmod": st.sampled_from(
        [
            "2025-03-09",
            "2025-03-09T14:30:00+01:00",
            "2025-03-09T14:30:00",
            "2025",
            "yesterday",
            "2025-02-30",
            " 2025-03-09 ",
        ]
    ),
    "changefreq": st.sampled_from(["daily", " weekly", "Often", "<never>", "\r\n"]),
    "priority": st.sampled_from(["0.5", "1", "2", "high", "0,5", ".5"]),
}


def _element(name: str, value: str, *, as_cdata: bool = False) -> str:
    text = f"<![CDATA[{value}]]>" if as_cdata else escape(value, {'"': "&quot;"} if "=" in value else {})
    return f"<{name}>{text}</{name}>"


NAMESPACES = "".join(
    f' xmlns:{name}="{namespace}"'
    for name, namespace in {
        "image": "http://www.google.com/schemas/sitemap-image/1.1",
        "video": "http://www.google.com/schemas/sitemap-video/1.1",
        "news": "http://www.google.com/schemas/sitemap-news/0.9",
        "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",
        "xhtml": "http://www.w3.org/1999/xhtml",
    }.items()
)
LINK_VALUES = {
    "rel": st.sampled_from(["alternate", "alternate", "Alternate", "canonical"]),
    "hreflang": st.sampled_from(["de", "x-default", "", " en ", "a&b"]),
    "href": st.sampled_from(["https://example.com/de?a=1&b=2", "'<\"", "", "a\nb", "日"]),
    "media": st.sampled_from(["only screen and (max-width: 640px)"]),
    "id": st.just("1"),
}


@st.composite
def plain_extensions(draw: st.DrawFn) -> list[str]:
    """Alternates, images, videos and news as generators write them; sometimes none."""
    blank = draw(WHITESPACE)
    found = []
    for _ in range(draw(st.integers(0, 3))):
        names = draw(st.permutations(draw(st.lists(st.sampled_from(sorted(LINK_VALUES)), unique=True, max_size=3))))
        attributes = "".join(f" {name}={quoteattr(draw(LINK_VALUES[name]))}" for name in names)
        found.append(f"<xhtml:link{attributes}{draw(st.sampled_from(['', ' ']))}/>")
    for _ in range(draw(st.integers(0, 2))):
        names = draw(st.lists(st.sampled_from(["loc", "caption", "title", "note"]), max_size=3))
        fields = [_element(f"image:{name}", draw(LOCS)) for name in names]
        found.append(f"<image:image>{blank}{blank.join(fields)}{blank}</image:image>")
    for _ in range(draw(st.integers(0, 2))):
        names = draw(st.lists(st.sampled_from(["title", "duration", "uploader", "tag", "restriction"]), max_size=3))
        fields = [_element(f"video:{name}", draw(LOCS)) for name in names]
        found.append(f"<video:video>{blank}{blank.join(fields)}{blank}</video:video>")
    for _ in range(draw(st.integers(0, 2))):
        names = draw(st.lists(st.sampled_from(["title", "keywords", "name"]), max_size=2))
        fields = [_element(f"news:{name}", draw(LOCS)) for name in names]
        inside = "".join(_element(f"news:{name}", draw(LOCS)) for name in draw(st.permutations(["name", "language"])))
        fields += draw(st.lists(st.just(f"<news:publication>{inside}{blank}</news:publication>"), max_size=2))
        found.append(f"<news:news>{blank}{blank.join(draw(st.permutations(fields)))}{blank}</news:news>")
    return found


@st.composite
def plain_sitemaps(draw: st.DrawFn) -> str:
    """Entries of one pattern, sometimes with a field left out, or with alternates and images."""
    names = ["loc", *draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=3))]
    names = draw(st.permutations(names))
    before, between, after, blank = (draw(WHITESPACE) for _ in range(4))
    leaves_out, is_extended = draw(st.booleans()), draw(st.booleans())
    entries = []
    for _ in range(draw(st.integers(1, 5))):
        kept = [name for name in names if name == "loc" or not leaves_out or draw(st.booleans())]
        fields = [_element(name, draw(LOCS if name == "loc" else VALUES[name])) for name in kept]
        fields += draw(plain_extensions()) if is_extended else []
        entries.append(f"<url>{before}{between.join(fields)}{after}</url>")
    declaration = draw(st.sampled_from(["", '<?xml version="1.0" encoding="UTF-8"?>\n']))
    root = f'urlset xmlns="{SITEMAPS}"{NAMESPACES}'
    return f"{declaration}<{root}>{blank}{blank.join(entries)}{blank}</urlset>{draw(WHITESPACE)}"


EXTENSIONS = st.sampled_from(
    [
        "<image:image><image:loc>https://e.x/a.png</image:loc><image:caption>A &amp; B</image:caption></image:image>",
        '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de?a=1&amp;b=2"/>',
        "<xhtml:link rel='canonical' href='https://example.com/'/>",
        "<mobile:mobile/>",
        "<news:news><news:publication><news:name>N</news:name></news:publication></news:news>",
        '<video:video><video:title>T</video:title><video:price currency="EUR">1</video:price></video:video>',
        '<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><DataObject type="d"/></PageMap>',
        '<x:any xmlns:x="urn:x" x:a="1" b="2">text<x:loc>https://example.com/none</x:loc></x:any>',
        '<any xmlns="urn:y"><url><loc>https://example.com/none</loc></url></any>',
        "<!-- <loc>https://example.com/none</loc> -->",
        "<?echo '<loc>' ?>",
        "stray text",
        "<lastmod></lastmod>",
        "<lastmod/>",
        "<priority>0.1</priority><priority>0.2</priority>",
        "<unknown>1</unknown>",
    ]
)


@st.composite
def odd_sitemaps(draw: st.DrawFn) -> str:
    """Entries with fields in any order, more than one loc or none, extensions, comments, CDATA, prefixes."""
    prefix = draw(st.sampled_from(["", "s:"]))
    declared = f' xmlns:s="{SITEMAPS}"' if prefix else draw(st.sampled_from(["", f' xmlns="{SITEMAPS}"']))
    case = draw(st.sampled_from([str, str, str.upper]))
    entries = []
    for _ in range(draw(st.integers(0, 4))):
        parts = [
            _element(prefix + case("loc"), loc, as_cdata=draw(st.booleans()))
            for loc in draw(st.lists(LOCS, max_size=2))
        ]
        for name, values in VALUES.items():
            if draw(st.booleans()):
                parts.append(_element(prefix + name, draw(values)))
        parts += draw(st.lists(EXTENSIONS, max_size=2))
        entries.append(f"<{prefix}url>{draw(WHITESPACE).join(draw(st.permutations(parts)))}</{prefix}url>")
    inside = draw(WHITESPACE).join(entries)
    return f"<{prefix}urlset{declared}{NAMESPACES}>{inside}</{prefix}urlset>"


_HIDDEN = "<url><loc>https://example.com/hidden</loc></url>"
DISTURBANCES = st.sampled_from(
    [
        *("<!--", "-->", "<![CDATA[", "]]>", "<?x", "?>", "<?php", "<!", "<", ">", "&", "'", '"', "]", "--", "text"),
        *("<url>", "</url>", "<loc>", "</loc>", "<b>", "</b>", "<b/>", "<url/>", "<_/>", "</urlset>", "<sitemap>"),
        *("&amp;", "&#38;", "&#x26;", "&lt;", "&#0;", "&#xD800;", "&nbsp;", "\x0c", "\r", "\r\n", "\ufffe", "\u00a0"),
        *(f"<!-- {_HIDDEN * 3} -->", f"<?x {_HIDDEN * 3} ?>", f"<![CDATA[{_HIDDEN * 3}]]>", f"<x>{_HIDDEN * 3}</x>"),
        *(f'<x xmlns="urn:x">{_HIDDEN * 3}</x>', "<!-- -- -->", "<!---->", '<![CDATA[a&b"<]]]]>', "<?x <!-- ?>"),
        *("<!-- <?x -->", "<sitemap><loc>/a</loc></sitemap>", "<loc>https://example.com/2</loc>", "<priority/>"),
        *("https://example.com/1 https://example.com/2", "<lastmod>2025</lastmod>", "</loc><loc>", "</url><url>"),
    ]
)


@st.composite
def disturbed_sitemaps(draw: st.DrawFn) -> str:
    """Plain sitemaps with anything at a few places, most of them not well-formed."""
    text = draw(plain_sitemaps())
    for _ in range(draw(st.integers(1, 3))):
        places = [match.end() for match in _PLACE.finditer(text)]
        at = draw(st.sampled_from(places))
        text = text[:at] + draw(DISTURBANCES) + text[at:]
    return text
