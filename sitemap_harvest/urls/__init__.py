"""URLs as text: parsing, resolving, canonical keys, sites, and the scope rule of sitemaps. Pure."""

from sitemap_harvest.urls.address import (
    MAX_BASE_CHARS,
    WHITESPACE,
    Address,
    disqualifier,
    join,
    resolve,
    several,
    web_line,
)
from sitemap_harvest.urls.columns import AddressColumns, address_columns
from sitemap_harvest.urls.key import (
    document_key,
    has_known_suffix,
    host_of,
    registrable_domain,
    site_of,
    url_key,
    user_of,
    without_user,
)
from sitemap_harvest.urls.scope import Scope

__all__ = [
    "MAX_BASE_CHARS",
    "WHITESPACE",
    "Address",
    "AddressColumns",
    "Scope",
    "address_columns",
    "disqualifier",
    "document_key",
    "has_known_suffix",
    "host_of",
    "join",
    "registrable_domain",
    "resolve",
    "several",
    "site_of",
    "url_key",
    "user_of",
    "web_line",
    "without_user",
]
