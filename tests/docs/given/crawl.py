"""Runs spiders of the current project, such as ``books=4``; fails unless each yields so many items."""

from __future__ import annotations

import sys

from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

wanted = {name: int(count) for name, _, count in (argument.partition("=") for argument in sys.argv[1:])}
settings = get_project_settings()
settings.set("LOG_LEVEL", "INFO")
process = CrawlerProcess(settings)
crawlers = {name: process.create_crawler(name) for name in wanted}
for crawler in crawlers.values():
    process.crawl(crawler)
process.start()
given = {name: crawler.stats.get_value("item_scraped_count", 0) for name, crawler in crawlers.items()}
if given != wanted:
    sys.exit(f"{given}, and not {wanted}")
