"""Ping service for Scrapyd: an HTTP request with the URL of a sitemap schedules a crawl of it.

Spec: https://www.sitemaps.org/protocol.html#submit_ping. A resource for Scrapyd's
section ``[services]``. Rate limits and access logs belong to the reverse proxy.
"""

from sitemap_harvest.scrapyd_ping.request import PingConfig
from sitemap_harvest.scrapyd_ping.resource import Ping

__all__ = ["Ping", "PingConfig"]
