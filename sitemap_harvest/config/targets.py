"""The targets of a run: sites, files of sites, sitemaps, and ``root``; and the logins in their URLs."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

from sitemap_harvest.archive.files import is_archive
from sitemap_harvest.config.site_lists import are_several, entries, host_in, text_of, without_typo
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.discovery.well_known import robots_of, scheme_twin
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.redact import without_login
from sitemap_harvest.urls import WHITESPACE, site_of, user_of, without_user

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DOCUMENT = re.compile(r"/[^?#]*\.(?:xml|gz|txt|rss|atom|json)(?:[?#]|$)", re.IGNORECASE)
_CUT_SCHEME = re.compile(r"https?(?::|//)", re.IGNORECASE)
_HOST_NAME = re.compile(r"\[[0-9A-Fa-f:.]+\]|[\w.\-]+")
_ONE_SITE = "a site, such as https://www.example.com"
_FILE_OF_SITES = "a text file with one site per line"
_ONE_DOCUMENT = "a URL that begins with http:// or https://, or a file"
_ROOT = "an existing folder, WARC file or WACZ file"
_ESCAPES = "in a password, write / as %2F, ? as %3F, # as %23, @ as %40 and a space as %20"
_SEVERAL = "separate several with spaces"


@dataclass(slots=True)
class Credentials:
    """``Authorization`` headers for each site (scheme, host and port); no other site gets them."""

    _headers: dict[str, str] = field(default_factory=dict, repr=False)

    def take(self, name: str, url: str) -> str:
        """Return *url*, the value of the argument *name*, without its user name, and store the login for its site.

        The user name and the password after the colon are percent-encoded. Raises
        :exc:`ArgumentError` if the URL is invalid, or its site already has another login.
        Spec: https://www.rfc-editor.org/rfc/rfc7617#section-2
        """
        user, address = user_of(url) or "", without_user(url)
        site = site_of(address)
        if not user.strip(":") or site is None:
            return address
        # Bytes, not text: only the server knows their encoding.
        login, _, password = map(unquote_to_bytes, user.encode("utf-8", "surrogateescape").partition(b":"))
        if b":" in login:
            message = f"argument {name}: the user name in a URL contains a colon (%3A), which HTTP does not allow"
            raise ArgumentError(name, None, "a user name without a colon", message=message)
        header = "Basic " + base64.b64encode(login + b":" + password).decode()
        if self._headers.setdefault(site, header) != header:
            message = f"argument {name}: two different logins are given for {site}; give one"
            raise ArgumentError(name, None, "one login for each site", message=message)
        return address

    @property
    def headers(self) -> Mapping[str, str]:
        """The ``Authorization`` headers by site.

        Credentials for an http site are also used for https on the same host, which has
        received them already.
        """
        plain = {site: header for site, header in self._headers.items() if site.startswith("http:")}
        twins = {f"https{site[4:]}": header for site, header in plain.items() if site.count(":") == 1}
        return {**twins, **self._headers}


def parse_targets(arguments: Mapping[str, Any], *, needs_target: bool = True) -> dict[str, Any]:
    """Return the fields of :class:`~sitemap_harvest.config.arguments.RunConfig` that say what is harvested.

    User names are removed from all URLs. Raises :exc:`ArgumentError` for the first
    invalid name and, if *needs_target*, if there is no target.
    """
    logins = Credentials()
    sites = [(_site("site", site, logins), _is_bare(site)) for site in _parts(arguments, "site")]
    files, root = arguments.get("sites", []), arguments.get("root")
    files = files if isinstance(files, list) else [files]
    listed, no_sites = [], []
    for file in files:
        sites_of_file, others = _listed_sites(file, logins)
        listed += sites_of_file
        no_sites += others
    candidates = [robots_of(site, is_bare=is_bare) for site, is_bare in _distinct([*sites, *listed]).items()]
    sitemaps = [document_address(name, logins) for name in _parts(arguments, "sitemap")]
    candidates += [Candidate(url=url, root=url) for url in dict.fromkeys(sitemaps)]
    if not candidates and needs_target:
        message = "nothing to harvest: give at least one of the arguments site, sites or sitemap"
        raise ArgumentError("site", None, _ONE_SITE, message=message)
    targets = {"candidates": tuple(candidates), "no_sites": tuple(no_sites), "logins": logins.headers}
    if root is None:
        return targets
    path = Path(str(root))
    try:
        if is_archive(path):
            return {**targets, "replay": path.resolve()}
        is_folder = path.is_dir()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentError("root", root, f"{_ROOT} ({reason})") from error
    if not is_folder:
        raise ArgumentError("root", root, _ROOT)
    if sitemaps and not (sites or files):
        site = f"={site_of(sitemaps[0])}" if site_of(sitemaps[0]) else ""
        message = f"argument root={root!r}: it replaces a site, but {sitemaps[0]!r} is a sitemap; give site{site}"
        raise ArgumentError("root", root, "used with a site", message=message)
    if files or sitemaps or len(_parts(arguments, "site")) != 1:
        raise ArgumentError("root", root, "used with exactly one site=, which the folder replaces")
    return {**targets, "root": path.resolve(), "only_site": sites[0][0]}


def document_address(name: str, logins: Credentials) -> str:
    """Return the URL of the document that the user named *name*; a login in the URL is moved to *logins*.

    Raises :exc:`ArgumentError` if it is invalid.
    """
    given = name
    if "://" in name:
        if are_several(name):
            raise ArgumentError("sitemap", given, f"{_ONE_DOCUMENT}; {_SEVERAL}; in a URL, write a comma as %2C")
        name = logins.take("sitemap", name)
        if name.lower().startswith("file:"):
            return name
        if name.lower().startswith(("http://", "https://")) and (site := site_of(name)) and _has_port_in_range(site):
            return name
        raise ArgumentError("sitemap", given, f"{_ONE_DOCUMENT}; {_ESCAPES}" if "@" in given else _ONE_DOCUMENT)
    if not os.path.exists(name) and (url := without_typo(name)):  # noqa: PTH110 - Path raises on a long text
        raise ArgumentError("sitemap", name, f"{_ONE_DOCUMENT}; write {url}")
    if "/" in name and not os.path.exists(name):  # noqa: PTH110
        if host_in(without_user(f"//{name}")[2:]):
            return logins.take("sitemap", f"https://{name}")
        if ":" in name.partition("@")[0] and "@" in name:
            raise ArgumentError("sitemap", name, f"a URL or an existing file; {_ESCAPES}")
    return Path(os.path.abspath(name)).as_uri()  # noqa: PTH100 - resolves .. and, unlike resolve(), no links


def _site(name: str, value: str, logins: Credentials) -> str:
    text = str(value).strip(WHITESPACE)
    url = logins.take(name, text if "://" in text else f"https://{text}")
    host = url.partition("://")[2]
    is_web = url.lower().startswith(("http://", "https://"))
    site = site_of(url) if is_web and host and not re.search(r"\s", host) and host[0] not in "/?#." else None
    if not site or not _has_port_in_range(site) or ("://" not in text and _CUT_SCHEME.match(text)):
        raise ArgumentError(name, value, f"{_ONE_SITE}{_hint(name, text)}")
    if not _HOST_NAME.fullmatch(re.sub(r":\d*$", "", re.split(r"[/?#]", host, maxsplit=1)[0])):
        raise ArgumentError(name, value, f"{_ONE_SITE}{_hint(name, text)}")
    if _DOCUMENT.search(host):
        what_to_do = "use sitemap= for a document" if name == "site" else "give documents separately, without a list"
        raise ArgumentError(name, value, f"{_ONE_SITE}; {what_to_do}")
    return site


def _hint(name: str, text: str) -> str:
    if name == "site" and (are_several(text) or ("," in text and "@" not in text)):
        return f"; {_SEVERAL}, or give a file of sites as sites="
    return f"; {_ESCAPES}" if "@" in text else ""


def _is_bare(value: object) -> bool:
    """Whether *value*, the name of a site, is only a host; a login is for https."""
    return "://" not in (text := str(value)) and "@" not in text


def _distinct(sites: Sequence[tuple[str, bool]]) -> dict[str, bool]:
    """Return the different *sites*, each with whether it was only named by its host.

    Such a host is the https site, unless another name gives only the address of the host with http.
    """
    addresses = {site for site, is_bare in sites if not is_bare}
    found: dict[str, bool] = {}
    for site, is_bare in sites:
        is_plain = is_bare and site not in addresses and scheme_twin(site) in addresses
        name = scheme_twin(site) if is_plain else site
        found[name] = name not in addresses
    return found


def _has_port_in_range(site: str) -> bool:
    try:
        return urlsplit(site).port != 0
    except ValueError:
        return False


def _listed_sites(path: str, logins: Credentials) -> tuple[list[tuple[str, bool]], list[tuple[str, str]]]:
    """Return the sites in the file *path*, each with whether it is a bare host; and the other lines with the reason."""
    try:
        text = text_of(path)
    except OSError as error:
        hint = "; use site= for a site" if "://" in path else ""
        reason = (error.strerror or str(error)).lower()
        raise ArgumentError("sites", path, f"{_FILE_OF_SITES} ({reason}){hint}") from error
    sites, no_sites = [], []
    for number, entry in entries(text):
        try:
            sites.append((_site("sites", entry, logins), _is_bare(entry)))
        except ArgumentError as error:
            why = error.accepted.removeprefix(_ONE_SITE)
            why = f": {error}" if error.value is None else f" is not a site{why}"
            shown = without_login(entry)[:100]
            no_sites.append((shown, f"{path}, line {number}: {shown!r}{why}"))
    if not sites:
        hint = "save a table or a spreadsheet as a text or CSV file with one column of hosts"
        raise ArgumentError("sites", path, f"{_FILE_OF_SITES}; this file has none; {hint}")
    return sites, no_sites


def _parts(arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return the value of an argument split at whitespace, unless it is a list or the name of one existing file."""
    if (value := arguments.get(name)) is None:
        return []
    if isinstance(value, list):
        return value
    return [value] if os.path.isfile(value) else str(value).split()  # noqa: PTH113 - Path raises on a long text
