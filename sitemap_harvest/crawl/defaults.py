"""The settings that the package works best with: what the add-on offers, and the command and our own project use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import __version__ as scrapy_version
from scrapy.settings import SETTINGS_PRIORITIES

from sitemap_harvest import __version__

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def user_agent(contact: str | None = None) -> str:
    """Return the ``User-Agent``, with *contact* in it if there is one."""
    comment = f" (+{contact})" if contact else ""
    return f"sitemap_harvest/{__version__}{comment} Scrapy/{scrapy_version}"


PLAIN: dict[str, Any] = {
    "USER_AGENT": user_agent(),
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_PARSER": "sitemap_harvest.crawl.rules.BoundedRobotParser",  # reads the rules in the first 512 KiB
    "COOKIES_ENABLED": False,  # sitemaps need none, and the cookie middleware looks up a suffix list on the network
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,  # on by default in Scrapy 2.19: a server that runs what it is sent
    "DOWNLOAD_MAXSIZE": 60 * 1024 * 1024,  # the protocol allows 50 MiB
    "DOWNLOAD_WARNSIZE": 0,  # a sitemap of 50 MiB is nothing to warn of
    "DOWNLOAD_TIMEOUT": 60,  # seconds; Scrapy's 180, three times over, is nine minutes for a host that hangs
    "CONCURRENT_REQUESTS": 512,  # over all hosts; hosts that hang must not hold up the others
    "AUTOTHROTTLE_ENABLED": True,  # a host that answers slowly is asked more slowly
    "AUTOTHROTTLE_START_DELAY": 0,  # seconds; of a host that was not met, only one document is asked for anyway
    "AUTOTHROTTLE_TARGET_CONCURRENCY": 4,  # documents of one host on their way, on average
    "RETRY_GIVE_UP_LOG_LEVEL": "INFO",  # what is given up has a row in the ledger, and is no error of the run
    "CONCURRENT_ITEMS": 4,  # batches of 10,000 rows in flight for each document
    "FEED_EXPORT_ENCODING": "utf-8",
}
"""Settings with a value of their own."""

ITEM_PROCESSOR = "sitemap_harvest.crawl.processor.BatchItemProcessor"

EXTENSIONS: dict[str, int | None] = {
    "scrapy.extensions.feedexport.FeedExporter": None,  # replaced by the next one, which is a subclass
    "sitemap_harvest.crawl.feeds.FeedExporter": 0,
    "sitemap_harvest.crawl.counts.BatchCounts": 0,
}
WATCHING: dict[str, tuple[str, int]] = {
    # The closing record comes after the metrics, as it tells if these could not be written.
    "SITEMAP_HARVEST_METRICS": ("sitemap_harvest.crawl.watching.metrics.Metrics", -1_001),
    "SITEMAP_HARVEST_CLOSING": ("sitemap_harvest.crawl.watching.closing_record.ClosingRecords", -1_000),
}
"""Extensions that our spiders load where these settings ask for them; before others, which may fail."""
LOCAL_FILES = "sitemap_harvest.crawl.local.LocalFiles"
DOWNLOADER_MIDDLEWARES: dict[str, int | None] = {
    "sitemap_harvest.crawl.politeness.Patience": 551,  # sees an answer before RetryMiddleware
    "sitemap_harvest.crawl.packed.PackedBodies": 595,  # before HttpCompressionMiddleware
    LOCAL_FILES: 890,  # before HttpCacheMiddleware, which must not answer for a file
    # Next to the downloader: what came between might wait for something, and two who ask at once would both pass.
    "sitemap_harvest.crawl.robots.RobotsOnce": 1_000_000,
}
FEED_EXPORTERS: dict[str, str] = {
    "jsonl": "sitemap_harvest.crawl.exporters.JsonLinesExporter",
    "jsonlines": "sitemap_harvest.crawl.exporters.JsonLinesExporter",
    "jl": "sitemap_harvest.crawl.exporters.JsonLinesExporter",
    "json": "sitemap_harvest.crawl.exporters.JsonExporter",
    "csv": "sitemap_harvest.crawl.exporters.CsvExporter",
    "xml": "sitemap_harvest.crawl.exporters.XmlExporter",
    "parquet": "sitemap_harvest.crawl.exporters.ParquetExporter",
}
SPIDER_MODULE = "sitemap_harvest.crawl.spiders"

ALL: dict[str, Any] = {
    **PLAIN,
    "ITEM_PROCESSOR": ITEM_PROCESSOR,
    "EXTENSIONS": EXTENSIONS,
    "DOWNLOADER_MIDDLEWARES": DOWNLOADER_MIDDLEWARES,
    "FEED_EXPORTERS": FEED_EXPORTERS,
    "SPIDER_MODULES": [SPIDER_MODULE],
    "LOG_LEVEL": "INFO",  # DEBUG logs every item
}
"""All of them, for a project that has nothing else."""


def offer(settings: BaseSettings) -> None:
    """Set those of :data:`PLAIN` that nobody has set: not the project, the spider, the command line or an add-on."""
    for name, value in PLAIN.items():
        if (settings.getpriority(name) or 0) < SETTINGS_PRIORITIES["addon"]:
            settings.set(name, value, priority="addon")


_SWITCHES = {
    "COOKIES_ENABLED": ("DOWNLOADER_MIDDLEWARES_BASE", "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"),
    "TELNETCONSOLE_ENABLED": ("EXTENSIONS_BASE", "scrapy.extensions.telnet.TelnetConsole"),
    "REMOTE_CONTROL_ENABLED": ("EXTENSIONS_BASE", "scrapy.extensions.remote_control.RemoteControl"),
}


def unload(settings: BaseSettings) -> None:
    """Take the parts of Scrapy that are switched off off the lists of what it loads.

    Scrapy loads them and then asks whether they are wanted, which takes a tenth
    of a short run. Nothing is taken off where an add-on of others may still switch it on.
    """
    if any("sitemap_harvest" not in str(addon) for addon in settings.getdict("ADDONS")):
        return
    for switch, (components, path) in _SWITCHES.items():
        if not settings.getbool(switch):
            left = {other: order for other, order in settings[components].items() if other != path}
            settings.set(components, left, priority="addon")


def introduce(settings: BaseSettings) -> None:
    """Put the contact, if one is set, into the ``User-Agent``, if that is ours."""
    if (contact := settings.get("SITEMAP_HARVEST_CONTACT")) and settings["USER_AGENT"] == PLAIN["USER_AGENT"]:
        settings.set("USER_AGENT", user_agent(contact), priority=settings.getpriority("USER_AGENT") or 0)
        # Protego looks for a robot's name anywhere in this, and a contact may hold some: "bot", or the name of a host.
        settings.set("ROBOTSTXT_USER_AGENT", PLAIN["USER_AGENT"], priority="addon")
