"""The default settings of the package, used by the add-on, the command, and projects that consist of it alone."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy import __version__ as scrapy_version
from scrapy.extensions import feedexport
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from sitemap_harvest import __version__

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


PLAIN: dict[str, Any] = {
    "USER_AGENT": f"sitemap_harvest/{__version__} Scrapy/{scrapy_version}",
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_PARSER": "sitemap_harvest.integration.middlewares.BoundedRobotParser",  # at most 512 KiB
    "COOKIES_ENABLED": False,  # sitemaps need none, and the cookie middleware downloads a suffix list
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,  # on by default in Scrapy 2.19: a server that executes what it receives
    "DOWNLOAD_MAXSIZE": 60 * 1024 * 1024,  # the protocol allows 50 MiB
    "DOWNLOAD_WARNSIZE": 0,  # a sitemap of 50 MiB is not worth a warning
    "DOWNLOAD_TIMEOUT": 60,  # seconds; Scrapy's 180 with three attempts is nine minutes for a host that hangs
    "CONCURRENT_REQUESTS": 512,  # over all hosts; hosts that hang must not delay the others
    "AUTOTHROTTLE_ENABLED": True,  # a slow host gets fewer requests
    "AUTOTHROTTLE_START_DELAY": 0,  # seconds; an unknown host gets only one request anyway
    "AUTOTHROTTLE_TARGET_CONCURRENCY": 4,  # average number of requests in flight per host
    "RETRY_GIVE_UP_LOG_LEVEL": "INFO",  # such a document has a record, and is not an error of the run
    "CONCURRENT_ITEMS": 4,  # batches of 10,000 rows in flight for each document
    "FEED_EXPORT_ENCODING": "utf-8",
}
"""Settings with plain values."""

ITEM_PROCESSOR = "sitemap_harvest.integration.items.item_processor.BatchItemProcessor"
FEED_EXPORTER = "sitemap_harvest.integration.items.feed_exporter.FeedExporter"
DOWNLOADER_MIDDLEWARES: dict[str, int | None] = {
    # before RetryMiddleware
    "sitemap_harvest.integration.middlewares.RetryAfterMiddleware": 551,
    # before HttpCompressionMiddleware
    "sitemap_harvest.integration.middlewares.ContentEncodingMiddleware": 595,
    # before HttpCacheMiddleware, which must not respond for a file
    "sitemap_harvest.integration.middlewares.LocalFilesMiddleware": 890,
    # behind HttpCacheMiddleware, whose responses need no wait
    "sitemap_harvest.integration.middlewares.CrawlDelayMiddleware": 999_000,
    # Next to the downloader: a middleware in between might wait, and two concurrent requests would both pass.
    "sitemap_harvest.integration.middlewares.RobotsCacheMiddleware": 1_000_000,
}
FORMATS: dict[str, str] = {
    "jsonl": "sitemap_harvest.integration.items.exporters.JsonLinesExporter",
    "jsonlines": "sitemap_harvest.integration.items.exporters.JsonLinesExporter",
    "jl": "sitemap_harvest.integration.items.exporters.JsonLinesExporter",
    "json": "sitemap_harvest.integration.items.exporters.JsonExporter",
    "csv": "sitemap_harvest.integration.items.csv_exporters.CsvExporter",
    "csv-excel": "sitemap_harvest.integration.items.csv_exporters.ExcelExporter",
    "tsv": "sitemap_harvest.integration.items.csv_exporters.TsvExporter",
    "xml": "sitemap_harvest.integration.items.exporters.XmlExporter",
    "parquet": "sitemap_harvest.integration.items.exporters.ParquetExporter",
    "xlsx": "sitemap_harvest.integration.items.xlsx_exporter.XlsxExporter",
}
"""The formats of outputs."""

BINARY_FORMATS = {"parquet": "Parquet", "xlsx": "an Excel workbook"}
"""Formats that are compressed, and not for terminals."""

_PACKAGES = {"xlsx": ("xlsxwriter", "XlsxWriter")}  # by format: the module and the name of an optional package

COMPRESSIONS = ("gz", "zst", "bz2", "xz")
"""The suffixes of compressed outputs."""

DATABASES = ("duckdb", "sqlite", "sqlite3", "delta", "postgresql", "db", "")
"""The databases, as formats of outputs; with the last two, the scheme of the URI tells."""

FEED_EXPORTERS: dict[str, str] = (
    FORMATS
    | dict.fromkeys(COMPRESSIONS, "sitemap_harvest.integration.items.exporters.compressed_exporter")
    | dict.fromkeys(DATABASES, "sitemap_harvest.integration.items.database_output.TablesExporter")
)
"""The formats; and the compressions, because for Scrapy, the last suffix is the format."""

SPIDER_MODULE = "sitemap_harvest.spiders"

ALL: dict[str, Any] = {
    **PLAIN,
    "ADDONS": {"sitemap_harvest.addon.Addon": 300},
    # These two are read before add-ons are loaded: by -o and -O, and by Scrapyd.
    "FEED_EXPORTERS": FEED_EXPORTERS,
    "SPIDER_MODULES": [SPIDER_MODULE],
    "LOG_LEVEL": "INFO",  # DEBUG logs every item
}
"""All of them, for a project without its own settings."""


def why_no_package(name: str) -> str | None:
    """Return why the format *name* cannot be written: a package is not installed; ``None`` if it needs no other."""
    module, package = _PACKAGES.get(name, (None, None))
    if module is None or find_spec(module) is not None:
        return None
    return f"{package} is not installed: pip install 'scrapy-sitemap-harvest[{name}]'"


def apply_defaults(settings: BaseSettings) -> None:
    """Set those of :data:`PLAIN` that nothing else has set: project, spider, command line or add-on."""
    for name, value in PLAIN.items():
        if (settings.getpriority(name) or 0) < SETTINGS_PRIORITIES["addon"]:
            settings.set(name, value, priority="addon")


def add_outputs(settings: BaseSettings) -> None:
    """Add the feed exporter and the exporters, unless the project has set its own, or has disabled them."""
    for name, path in FEED_EXPORTERS.items():
        if name not in settings.getdict("FEED_EXPORTERS"):
            settings["FEED_EXPORTERS"][name] = path
    scrapys, ours = feedexport.FeedExporter, load_object(FEED_EXPORTER)
    if not {scrapys, ours} & {load_object(extension) for extension in settings.getdict("EXTENSIONS")}:
        names = {global_object_name(scrapys), scrapys}  # to load all of Scrapy's extensions takes 0.2 seconds
        base = settings["EXTENSIONS_BASE"].items()
        replaced = {ours if extension in names else extension: order for extension, order in base}
        settings.set("EXTENSIONS_BASE", replaced, priority="addon")


def bring_outputs(settings: BaseSettings) -> None:
    """Add what :func:`add_outputs` adds if the project does not use the add-on.

    Scrapy's exporters would write the ``repr()`` of Python values into CSV and XML.
    """
    if not settings.frozen and not any("sitemap_harvest" in str(addon) for addon in settings.getdict("ADDONS")):
        add_outputs(settings)


_SWITCHES = {
    "COOKIES_ENABLED": ("DOWNLOADER_MIDDLEWARES_BASE", "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"),
    "TELNETCONSOLE_ENABLED": ("EXTENSIONS_BASE", "scrapy.extensions.telnet.TelnetConsole"),
    "REMOTE_CONTROL_ENABLED": ("EXTENSIONS_BASE", "scrapy.extensions.remote_control.RemoteControl"),
}


def remove_disabled_components(settings: BaseSettings) -> None:
    """Remove disabled Scrapy components from the lists of components to load.

    Scrapy loads them before it checks whether they are enabled, which takes a tenth of
    a short run. Nothing is removed if another add-on may still enable it.
    """
    if any("sitemap_harvest" not in str(addon) for addon in settings.getdict("ADDONS")):
        return
    for switch, (components, path) in _SWITCHES.items():
        if not settings.getbool(switch):
            left = {other: order for other, order in settings[components].items() if other != path}
            settings.set(components, left, priority="addon")


def add_contact(settings: BaseSettings) -> None:
    """Add the contact, if one is set, to the ``User-Agent``, if that is the package's own."""
    if (contact := settings.get("SITEMAP_HARVEST_CONTACT")) and settings["USER_AGENT"] == PLAIN["USER_AGENT"]:
        own = PLAIN["USER_AGENT"].replace(" ", f" (+{contact}) ", 1)
        settings.set("USER_AGENT", own, priority=settings.getpriority("USER_AGENT") or 0)
        # Protego searches the whole text for a robot's name, and a contact may contain one: "bot", or the name of a
        # host.
        settings.set("ROBOTSTXT_USER_AGENT", PLAIN["USER_AGENT"], priority="addon")
