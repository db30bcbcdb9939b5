"""The receiving side of the protocol's submission by HTTP request: a ping schedules a crawl of the sitemap it names.

Spec: https://www.sitemaps.org/protocol.html#submit_ping
A resource of Scrapyd's section ``[services]``. Everything but the resource is
pure: the clock, the jobs of Scrapyd and what a lookup gave come in as arguments.
"""

from sitemap_harvest.services.ping.config import PingConfig
from sitemap_harvest.services.ping.resource import Ping

__all__ = ["Ping", "PingConfig"]
