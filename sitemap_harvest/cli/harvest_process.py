"""The program of the process that ``sitemap_harvest.harvest()`` starts: crawls, and writes the items to files.

Its standard input carries the job, pickled, and ends when the caller no longer wants the result.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import shutil
import sys
import time
from difflib import get_close_matches
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from sitemap_harvest.cli.start import begin_start, end_start, prevent_pandas_import

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.settings import Settings

_GRACE_SECONDS = 10  # to end orderly: a host may hang, and nobody waits for the result
_LIKENESS = 0.9  # of a typo; the settings of other packages are less similar to those of Scrapy
_EXPORTER = "sitemap_harvest.integration.items.arrow_exporter.ArrowExporter"
_STORAGE = "sitemap_harvest.integration.items.arrow_exporter.StreamStorage"


def main() -> None:
    """Run the job in the standard input."""
    begin_start()
    job = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that has started this one
    if not job["settings"]:  # then there are no pipelines of the user
        prevent_pandas_import()
    from scrapy import signals  # these and others take most of the start
    from scrapy.crawler import AsyncCrawlerProcess

    from sitemap_harvest.config.arguments import EMIT
    from sitemap_harvest.engine.exit_codes import RunOutcome
    from sitemap_harvest.errors import OptionError
    from sitemap_harvest.escape import escape_log
    from sitemap_harvest.integration.setting_types import check_setting_types
    from sitemap_harvest.reporting.json_log import start_log
    from sitemap_harvest.spiders.sitemap import SitemapSpider

    settings = settings_of(job)
    try:
        check_setting_types(settings)
    except OptionError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(RunOutcome.WRONG_USAGE.exit_code)
    escape_log()
    process = AsyncCrawlerProcess(settings)
    start_log(settings)
    for warning in typos(job["settings"]):
        logging.getLogger("sitemap_harvest").warning("%s", warning)
    crawler = process.create_crawler(SitemapSpider)
    left: list[bool] = []

    def watch() -> None:
        assert crawler.engine is not None  # noqa: S101 - for mypy: the spider is open
        processor: Any = crawler.engine.scraper.itemproc
        processor.bypassing = {EMIT[kind] for kind in job["without_pipelines"]}
        loop = asyncio.get_running_loop()

        def wait() -> None:
            os.read(sys.stdin.fileno(), 1)  # not through its buffer, whose lock Python needs at its end
            left.append(True)
            asyncio.run_coroutine_threadsafe(crawler.stop_async(), loop)
            time.sleep(_GRACE_SECONDS)
            shutil.rmtree(job["folder"], ignore_errors=True)
            os._exit(1)

        Thread(target=wait, daemon=True).start()

    crawler.signals.connect(watch, signal=signals.spider_opened, weak=False)
    end_start()
    process.crawl(crawler, **job["arguments"])
    process.start()
    if left:  # the caller may have been killed, and then removes nothing
        shutil.rmtree(job["folder"], ignore_errors=True)
    sys.exit(1 if process.bootstrap_failed else 0)


def typos(names: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each of *names* that is no setting of Scrapy, but similar to one."""
    from scrapy.settings import Settings

    known = [str(name) for name in Settings()]
    for name in names:
        if name not in known and (meant := get_close_matches(name, known, 1, _LIKENESS)):
            yield f"Unknown setting {name}; did you mean {meant[0]}?"


def settings_of(job: Mapping[str, Any]) -> Settings:
    """Return the settings of the run: the package's, those of the user, and those that return its result."""
    from scrapy.settings import Settings

    from sitemap_harvest.config.arguments import EMIT
    from sitemap_harvest.integration.default_settings import ALL

    settings = Settings()
    settings.setdict({"STATS_DUMP": False, "SITEMAP_HARVEST_LOG": "json", "LOG_LEVEL": job["log_level"]}, "project")
    settings.setdict(job["settings"], priority="cmdline")
    feeds = {
        Path(path).as_uri().replace("file:", "stream:", 1).replace("%", "%%"): {
            "format": "arrow",
            "item_classes": [EMIT[kind].row_type],
            "overwrite": True,
            "store_empty": True,
            "batch_item_count": 0,
        }
        for kind, path in job["files"].items()
    }
    own = {
        "ADDONS": {**ALL["ADDONS"], **settings.getdict("ADDONS")},
        "FEED_EXPORTERS": {**settings.getdict("FEED_EXPORTERS"), "arrow": _EXPORTER},
        "FEED_STORAGES": {**settings.getdict("FEED_STORAGES"), "stream": _STORAGE},
        "FEEDS": {**settings.getdict("FEEDS"), **feeds},
        "SITEMAP_HARVEST_CLOSING": job["closing"].replace("%", "%%"),
    }
    settings.setdict(own, priority="cmdline")
    return settings


if __name__ == "__main__":
    main()
