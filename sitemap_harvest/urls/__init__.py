"""URLs as text: what is one, what makes a relative one absolute, what identifies it, and which document may list it."""

from sitemap_harvest.urls.address import BLANKS, MAX_BASE_CHARS, Address, disqualifier, join, resolve, several, web_line
from sitemap_harvest.urls.columns import AddressColumns, address_columns
from sitemap_harvest.urls.key import url_key
from sitemap_harvest.urls.scope import Scope
from sitemap_harvest.urls.site import site_of
from sitemap_harvest.urls.user import user_of, without_user

__all__ = [
    "BLANKS",
    "MAX_BASE_CHARS",
    "Address",
    "AddressColumns",
    "Scope",
    "address_columns",
    "disqualifier",
    "join",
    "resolve",
    "several",
    "site_of",
    "url_key",
    "user_of",
    "web_line",
    "without_user",
]
