"""Reads extensions: images, videos, news, alternates and PageMaps of an entry; unknown elements go to ``extra``.

Specs: https://developers.google.com/search/docs/crawling-indexing/sitemaps/overview and
the pages below it. Values stay as published, trimmed. A child without its own field, or
a duplicate, goes to ``extra`` below the name of its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Plain = dict[str, Any]
Value = TypeVar("Value")

_MAX_NAMES = 256  # documents have some 20
_MAX_NAME_CHARS = 512

IMAGE_FIELDS = ("loc", "caption", "title", "geo_location", "license")
LINK_ATTRIBUTES = ("href", "hreflang", "media", "type")
NEWS_FIELDS = ("title", "publication_date", "keywords", "genres", "access", "stock_tickers", "geo_locations")
PUBLICATION_FIELDS = ("name", "language")
VIDEO_FIELDS = frozenset(
    {
        *("category", "content_loc", "description", "duration", "expiration_date", "family_friendly", "gallery_loc"),
        *("live", "player_loc", "publication_date", "rating", "requires_subscription", "thumbnail_loc", "title"),
        *("uploader", "view_count"),
    }
)
_KNOWN_ATTRIBUTES = {"uploader": ("info", "uploader_info"), "gallery_loc": ("title", "gallery_title")}


class Names(dict[str, Value], Generic[Value]):
    """A cache of bounded size, whatever names a document contains: *find* is called once for each name."""

    def __init__(self, find: Callable[[str], Value]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> Value:
        value = self._find(name)
        if len(self) >= _MAX_NAMES:
            self.clear()
        if not isinstance(name, str) or len(name) <= _MAX_NAME_CHARS:  # lxml has functions as names of comments
            self[name] = value
        return value


def is_extension(tag: Any) -> bool:
    """Whether *tag* belongs to an extension."""
    return _FOUND_READERS[tag] is not None


def read_extensions(elements: Iterable[Any]) -> Plain:
    """Return columns of ``UrlEntry`` by name, with plain values, from *elements* that the protocol does not define."""
    found: Plain = {}
    for element in elements:
        if not isinstance(element.tag, str):
            continue  # a comment
        if reader := _FOUND_READERS[element.tag]:
            reader(element, found)
        else:
            _keep(element, 0, found)
    return found


def _reader(tag: object) -> Callable[[Any, Plain], None] | None:
    """Return the reader of an element *tag*; ``None`` for an unknown tag."""
    if not isinstance(tag, str):
        return None
    namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
    for part, name, reader in _READERS:
        if local.lower() == name and part in namespace.lower():
            return reader
    return None


_FOUND_READERS = Names(_reader)


def record_column(tag: str) -> str | None:
    """Return the column of lists of records that elements *tag* (``{namespace}local``) become.

    ``None``: they become no records, or their records are not flat.
    """
    return {_image: "images", _video: "videos", _news: "news", _link: "alternates"}.get(_reader(tag))  # type: ignore[arg-type]  # None is no key


_LOCAL_NAMES: Names[str] = Names(lambda tag: tag.rpartition("}")[2].lower() if isinstance(tag, str) else "")
"""By tag, in lower case; empty for a comment."""


def _text(element: Any) -> str:
    text = "".join(element.itertext()) if len(element) else element.text
    return (text or "").strip(WHITESPACE)


def _own_text(element: Any) -> str:
    """Return the text of *element* without that of its children."""
    text = element.text or ""
    if len(element):
        text = "".join([text, *(child.tail or "" for child in element)])
    return text.strip(WHITESPACE)


def _keep(element: Any, depth: int, found: Plain) -> None:
    """Append *element* and its descendants to ``extra``."""
    if not isinstance(element.tag, str):
        return
    attributes = [{"name": name, "value": value} for name, value in element.items()]
    text = _own_text(element) or None
    found.setdefault("extra", []).append(
        {"name": element.tag, "depth": depth, "text": text, "attributes": attributes or None}
    )
    for child in element:
        _keep(child, depth + 1, found)


def _keep_below(parent: Any, unknown: list[Any], found: Plain) -> None:
    """Append *unknown* children of *parent* to ``extra``, below its name; also its own text, which should not exist."""
    text = _own_text(parent) or None
    if unknown or text:
        found.setdefault("extra", []).append({"name": parent.tag, "depth": 0, "text": text, "attributes": None})
        for child in unknown:
            _keep(child, 1, found)


def _fill(element: Any, fields: tuple[str, ...], into: Plain, prefix: str = "") -> list[Any]:
    """Copy the texts of children of *element* named *fields* *into* a record; return the other children."""
    unknown = []
    for child in element:
        name = _LOCAL_NAMES[child.tag]
        field = prefix + name
        if name in fields and field not in into and not len(child) and not child.items():
            into[field] = (child.text or "").strip(WHITESPACE)
        else:
            unknown.append(child)
    return unknown


def _image(element: Any, found: Plain) -> None:
    image: Plain = {}
    unknown = _fill(element, IMAGE_FIELDS, image)
    found.setdefault("images", []).append(image)
    _keep_below(element, unknown, found)


def _news(element: Any, found: Plain) -> None:
    news: Plain = {}
    unknown = []
    for child in _fill(element, NEWS_FIELDS, news):
        if _LOCAL_NAMES[child.tag] == "publication" and not child.items():
            unknown += _fill(child, PUBLICATION_FIELDS, news, prefix="publication_")
        else:
            unknown.append(child)
    found.setdefault("news", []).append(news)
    _keep_below(element, unknown, found)


def _video(element: Any, found: Plain) -> None:
    video: Plain = {}
    for child in element:
        _video_field(child, _LOCAL_NAMES[child.tag], video)
    found.setdefault("videos", []).append(video)


def _video_field(child: Any, name: str, video: Plain) -> None:
    attributes = dict(child.items())
    if name == "price":
        known = {key: attributes.pop(key) for key in ("currency", "type", "resolution") if key in attributes}
        video.setdefault("prices", []).append({"value": _text(child), **known})
    elif name == "tag":
        video.setdefault("tags", []).append(_text(child))
    elif name in {"restriction", "platform"} and name not in video:
        video[name] = {"relationship": attributes.pop("relationship", None), "value": _text(child)}
    elif name in VIDEO_FIELDS and name not in video and not len(child):
        video[name] = _text(child)
        attribute, field = _KNOWN_ATTRIBUTES.get(name, ("", ""))
        if attribute in attributes:
            video[field] = attributes.pop(attribute)
    elif name:
        _other(child, name, video, with_attributes=False)
    for attribute, value in attributes.items():
        video.setdefault("other", []).append({"name": f"{name}@{attribute}", "value": value})


def _other(element: Any, name: str, video: Plain, *, with_attributes: bool = True) -> None:
    if with_attributes:
        for attribute, value in element.items():
            video.setdefault("other", []).append({"name": f"{name}@{attribute}", "value": value})
    if not len(element):
        video.setdefault("other", []).append({"name": name, "value": _text(element)})
    for child in element:
        if isinstance(child.tag, str):
            _other(child, f"{name}/{_LOCAL_NAMES[child.tag]}", video)


def _link(element: Any, found: Plain) -> None:
    attributes = dict(element.items())
    is_alternate = attributes.pop("rel", "alternate").lower() == "alternate"
    is_known = attributes.keys() <= {*LINK_ATTRIBUTES}
    if not is_alternate or not is_known or len(element) or _text(element):
        _keep(element, 0, found)
    if is_alternate:
        known = attributes if is_known else {name: attributes[name] for name in LINK_ATTRIBUTES if name in attributes}
        found.setdefault("alternates", []).append(known)


def _mobile(element: Any, found: Plain) -> None:
    found["mobile"] = True
    if len(element) or element.items() or _text(element):
        _keep(element, 0, found)


def _pagemap(element: Any, found: Plain) -> None:
    unknown = []
    for child in element:
        if _LOCAL_NAMES[child.tag] == "dataobject":
            attributes: list[Plain] = []
            for leaf in child.iter():
                if _LOCAL_NAMES[leaf.tag] == "attribute":
                    value = leaf.get("value")
                    attributes.append(
                        {"name": leaf.get("name") or "", "value": _own_text(leaf) if value is None else value}
                    )
            record = {"type": child.get("type"), "id": child.get("id"), "attributes": attributes or None}
            found.setdefault("pagemap", []).append(record)
        else:
            unknown.append(child)
    found.setdefault("pagemap", [])
    _keep_below(element, unknown, found)


_READERS = (
    ("sitemap-image", "image", _image),
    ("sitemap-video", "video", _video),
    ("sitemap-news", "news", _news),
    ("sitemap-mobile", "mobile", _mobile),
    ("sitemap-pagemap", "pagemap", _pagemap),
    ("w3.org/1999/xhtml", "link", _link),
    ("w3.org/tr/xhtml", "link", _link),  # seen in the wild
)

WELL_KNOWN_PREFIXES = {
    "xml": "http://www.w3.org/XML/1998/namespace",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",
    "pagemap": "http://www.google.com/schemas/sitemap-pagemap/1.0",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
"""The meanings of usual prefixes in a document that does not declare them."""
