"""URLs as text: what is one, what makes a relative one absolute, and what identifies it."""

from sitemap_harvest.urls.address import BLANKS, Address, join, resolve, several, web_line
from sitemap_harvest.urls.columns import AddressColumns, address_columns
from sitemap_harvest.urls.key import url_key
from sitemap_harvest.urls.site import site_of

__all__ = [
    "BLANKS",
    "Address",
    "AddressColumns",
    "address_columns",
    "join",
    "resolve",
    "several",
    "site_of",
    "url_key",
    "web_line",
]
