"""The results of other parsers for a document, to compare with ours."""

from __future__ import annotations

from lxml import etree


def walked(body: bytes) -> list[str] | None:
    """Return the text of each loc, by a plain walk through the tree; ``None`` if the document is malformed."""
    try:
        root = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
    except etree.XMLSyntaxError:
        return None
    if root.getroottree().docinfo.doctype or etree.QName(root).localname not in {"urlset", "sitemapindex"}:
        return None
    texts = []
    for entry in root.iter("{*}url", "{*}sitemap"):
        found = list(entry.iterchildren(entry.tag[: entry.tag.rfind("}") + 1] + "loc"))
        texts += ["".join(loc.itertext()) for loc in found] or [entry.text or ""]  # some entries have no <loc>
    return texts
