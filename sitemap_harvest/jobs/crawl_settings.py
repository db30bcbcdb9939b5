"""The settings of crawls in jobs, and the share of what a host may get that each of several jobs has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scrapy.utils.project import get_project_settings

from sitemap_harvest.errors import HarvestError
from sitemap_harvest.integration.default_settings import ALL
from sitemap_harvest.integration.setting_types import checked_settings
from sitemap_harvest.jobs.bounded import JobFailedError
from sitemap_harvest.jobs.retries import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import Settings

    from sitemap_harvest.config.settings import HarvestSettings

_PER_HOST = "CONCURRENT_REQUESTS_PER_DOMAIN"


def crawl_settings(given: Mapping[str, str]) -> tuple[Settings, HarvestSettings]:
    """Return the settings of a crawl: those of the project, those *given*, and those without which it is no job.

    And those of the package in them. Raises :exc:`JobFailedError` if a value is invalid.
    """
    settings = get_project_settings()
    is_own_project = settings.get("BOT_NAME") == "sitemap_harvest"  # its log level is meant for "scrapy crawl"
    settings.set("LOG_LEVEL", "WARNING", priority="project" if is_own_project else "addon")
    settings.setdict({"STATS_DUMP": False}, priority="addon")
    settings.setdict(given, priority="cmdline")
    own = {
        "ADDONS": {**ALL["ADDONS"], **settings.getdict("ADDONS")},
        "FEEDS": {},  # many crawls at once would overwrite one file
        "SPIDER_MODULES": [],  # loading all spiders of a project takes as long as a small crawl
        "TELNETCONSOLE_ENABLED": False,
    }
    settings.setdict(own, priority="cmdline")
    try:
        return settings, checked_settings(settings)
    except HarvestError as error:
        raise JobFailedError(FailureKind.REFUSED, str(error)) from None


def most_sharers(settings: Settings, wanted: int) -> int:
    """Return how many jobs, at most *wanted*, can share a host so that each may send at least one request at a time."""
    per_host = settings.getint(_PER_HOST)
    return min(wanted, per_host) if per_host > 0 else wanted  # 0: no limit


def share(settings: Settings, options: HarvestSettings, sharers: int) -> None:
    """Change *settings* to those of one of so many jobs that crawl a site at the same time.

    Together, they send no more requests at a time than one job, and as many in a minute. *options*: those of the
    package in the settings. Each may read its share of the documents and the bytes that are allowed for a site.
    """
    per_host = settings.getint(_PER_HOST)
    slots = {
        name: {
            **slot,
            **({"concurrency": max(1, slot["concurrency"] // sharers)} if slot.get("concurrency") else {}),
            **({"delay": slot["delay"] * sharers} if slot.get("delay") else {}),
        }
        for name, slot in settings.getdict("DOWNLOAD_SLOTS").items()
    }
    own = {
        _PER_HOST: max(1, per_host // sharers) if per_host > 0 else 0,
        "DOWNLOAD_DELAY": settings.getfloat("DOWNLOAD_DELAY") * sharers,
        "DOWNLOAD_SLOTS": slots,
        "AUTOTHROTTLE_TARGET_CONCURRENCY": settings.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY") / sharers,
        "AUTOTHROTTLE_START_DELAY": settings.getfloat("AUTOTHROTTLE_START_DELAY") * sharers,
        "AUTOTHROTTLE_MAX_DELAY": settings.getfloat("AUTOTHROTTLE_MAX_DELAY") * sharers,
        "SITEMAP_HARVEST_MAX_DOCUMENTS": math.ceil(options.max_documents / sharers),
    }
    if options.max_site_bytes is not None:
        own["SITEMAP_HARVEST_MAX_SITE_BYTES"] = math.ceil(options.max_site_bytes / sharers)
    settings.setdict(own, priority="cmdline")
