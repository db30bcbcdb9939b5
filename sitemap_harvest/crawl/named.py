"""What the user names: sites, lists of sites, sitemaps, and the folder that stands in for a site."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.crawl.logins import Logins
from sitemap_harvest.errors import ArgumentError, without_login
from sitemap_harvest.plan import Lead, robots_of
from sitemap_harvest.urls import BLANKS, site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemap_harvest.crawl.arguments import Arguments

_HOST = re.compile(
    r"(?:[^\W_](?:[\w\-]*[^\W_])?\.)+[^\W\d_]{2,}\.?(?::\d{1,5})?(?=[/?#]|$)|localhost(?::\d{1,5})?(?=/|$)",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"/[^?#]*\.(?:xml|gz|txt|rss|atom|json)(?:[?#]|$)", re.IGNORECASE)
_HOST_NAME = re.compile(r"\[[0-9A-Fa-f:.]+\]|[\w.\-]+")
_ONE_SITE = "a site, such as https://www.example.com"
_ESCAPES = "in a password, / is written %2F, ? %3F, # %23, @ %40 and a blank %20"


def leads_of(
    arguments: Arguments, *, needs_target: bool = True
) -> tuple[list[Lead], list[tuple[str, str]], Mapping[str, str]]:
    """Return what a run begins with, the lines of the file of sites that are no site, and the logins by site.

    With each of those lines comes why it is none. No address has a user name in
    it any more. Raises :exc:`ArgumentError` at the first name that is wrong, and,
    if *needs_target*, where there is none.
    """
    logins = Logins()
    sites: list[str] = []
    no_sites: list[tuple[str, str]] = []
    if arguments.site is not None:
        sites += [_site("site", site, logins) for site in _parts(arguments.site) or [""]]
    if arguments.sites is not None:
        listed, no_sites = _listed_sites(arguments.sites, logins)
        sites += listed
    leads = [robots_of(site) for site in dict.fromkeys(sites)]
    if arguments.sitemap is not None:
        leads += [Lead(url=url, root=url) for url in dict.fromkeys(_sitemaps(arguments.sitemap, logins))]
    if not leads and needs_target:
        message = "nothing to harvest: give at least one of the arguments site, sites and sitemap"
        raise ArgumentError("site", None, _ONE_SITE, message=message)
    return leads, no_sites, logins.headers


def root_of(arguments: Arguments) -> Path | None:
    """Return the folder that stands in for the site; ``None`` if none does. Raises :exc:`ArgumentError`."""
    if arguments.root is None:
        return None
    folder = Path(str(arguments.root))
    if not folder.is_dir():
        raise ArgumentError("root", arguments.root, "a folder that is there")
    if arguments.sites is not None or arguments.sitemap is not None or len(_parts(arguments.site or "")) != 1:
        raise ArgumentError("root", arguments.root, "given with the one site that the folder stands in for, as site=")
    return folder.resolve()


def document_address(name: str, logins: Logins) -> str:
    """Return the address of the document that the user names *name*; a user name in it goes to *logins*.

    Raises :exc:`ArgumentError` if it is none.
    """
    given = name
    if "://" in name:
        name = logins.take("sitemap", name)
        if name.lower().startswith("file:"):
            return name
        if name.lower().startswith(("http://", "https://")) and (site := site_of(name)) and _has_port_in_range(site):
            return name
        accepted = "an address that begins with http:// or https://, or a file"
        raise ArgumentError("sitemap", given, f"{accepted}; {_ESCAPES}" if "@" in given else accepted)
    if "/" in name and not os.path.exists(name):  # noqa: PTH110 - Path raises on a long text
        if _HOST.match(without_user(f"//{name}")[2:]):
            return logins.take("sitemap", f"https://{name}")
        if ":" in name.partition("@")[0] and "@" in name:
            raise ArgumentError("sitemap", name, f"an address, or a file that is there; {_ESCAPES}")
    return Path(os.path.abspath(name)).as_uri()  # noqa: PTH100 - without .. and, unlike resolve(), through no link


def _site(name: str, value: str, logins: Logins) -> str:
    text = str(value).strip(BLANKS)
    url = logins.take(name, text if "://" in text else f"https://{text}")
    host = url.partition("://")[2]
    is_web = url.lower().startswith(("http://", "https://"))
    site = site_of(url) if is_web and host and not re.search(r"\s", host) and host[0] not in "/?#." else None
    if not site or not _has_port_in_range(site) or ("://" not in text and re.match("https?:", text)):
        raise ArgumentError(name, value, f"{_ONE_SITE}; {_ESCAPES}" if "@" in text else _ONE_SITE)
    if not _HOST_NAME.fullmatch(re.sub(r":\d*$", "", re.split(r"[/?#]", host, maxsplit=1)[0])):
        raise ArgumentError(name, value, _ONE_SITE)
    if _DOCUMENT.search(host):
        raise ArgumentError(name, value, f"{_ONE_SITE}; a document is named by sitemap=")
    return site


def _has_port_in_range(site: str) -> bool:
    try:
        return urlsplit(site).port != 0
    except ValueError:
        return False


def _listed_sites(path: str, logins: Logins) -> tuple[list[str], list[tuple[str, str]]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        hint = "; a site is named by site=" if "://" in path else ""
        raise ArgumentError("sites", path, f"a text file of sites, one a line ({_words(error)}){hint}") from error
    sites, no_sites = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not (entry := re.sub(r"(?:^|\s)#.*", "", line).strip(BLANKS)):
            continue
        try:
            sites.append(_site("sites", entry, logins))
        except ArgumentError as error:
            why = error.accepted.removeprefix(_ONE_SITE)
            why = f" that can be harvested: {error}" if error.value is None else why
            entry = without_login(entry)[:100]
            no_sites.append((entry, f"{path}, line {number}: {entry!r} is no site{why}"))
    if not sites:
        raise ArgumentError("sites", path, "a text file of sites, one a line, and this one has none")
    return sites, no_sites


def _sitemaps(value: str | list[str], logins: Logins) -> Iterator[str]:
    if not (names := _parts(value)):
        raise ArgumentError("sitemap", value, "addresses or files, separated by blanks")
    for name in names:
        yield document_address(name, logins)


def _parts(value: str | list[str]) -> list[str]:
    """Return the parts of *value*, which are separated by blanks unless it is the name of one file with blanks."""
    if isinstance(value, list):
        return value
    return [value] if os.path.isfile(value) else str(value).split()  # noqa: PTH113 - Path raises on a long text


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
