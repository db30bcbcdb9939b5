"""What is told of a run beside its items: the JSON log, the metrics and the closing record, where they are asked for.

Our spiders load what they need of it. The other spiders of a project have none.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.log import get_scrapy_root_handler
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl import defaults
from sitemap_harvest.crawl.watching import run_mark
from sitemap_harvest.crawl.watching.run_end import refused_end
from sitemap_harvest.errors import OptionError
from sitemap_harvest.model.run_ids import new_run_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy import Spider
    from scrapy.settings import BaseSettings


logger = logging.getLogger(__name__)

_LOG = "SITEMAP_HARVEST_LOG"
_NEEDS = {_LOG: ("pythonjsonlogger", "python-json-logger"), "SITEMAP_HARVEST_METRICS": ("prometheus_client",) * 2}
_NO_HANDLER = (
    "SITEMAP_HARVEST_LOG is 'json', and Scrapy has not set up the log: "
    "give your own handler the formatter sitemap_harvest.crawl.watching.json_log.JsonFormatter"
)


def watch(settings: BaseSettings) -> None:
    """Let Scrapy load the extensions that *settings* ask for."""
    asked = {
        path: order for name, (path, order) in defaults.WATCHING.items() if settings.get(name) and not _lacks(name)
    }
    given = settings.getdict("EXTENSIONS")
    known = {load_object(cls) for cls in given} if asked else set()
    given |= {path: order for path, order in asked.items() if load_object(path) not in known}
    if asked:  # a runner puts its own value in the place of one that has the same priority
        priority = max((settings.getpriority("EXTENSIONS") or 0) + 1, SETTINGS_PRIORITIES["spider"])
        settings.set("EXTENSIONS", given, priority=priority)


def begin_watching(spider: Spider, settings: BaseSettings) -> None:
    """Let what is logged from now on bear the mark of the run of *spider*, and let it be JSON if it is to be."""
    run_mark.begin(spider)
    begin_log(settings)


def begin_log(settings: BaseSettings) -> None:
    """Let the log be JSON, if *settings* say so and it can be."""
    if settings.get(_LOG) == "json" and _lacks(_LOG) is None:
        from sitemap_harvest.crawl.watching import json_log

        json_log.begin()


def check_watching(spider: Spider) -> dict[str, Path | None]:
    """Return the files that settings name, by the names of these. Raises :exc:`OptionError` if one cannot be had."""
    settings = spider.crawler.settings
    check_installed(settings)
    mark, files = run_mark.Mark.of(spider), {}
    for name, (path, _) in defaults.WATCHING.items():
        if settings.get(name):
            files[name] = import_module(path.rpartition(".")[0]).check(settings, mark)
    if settings.get(_LOG) == "json" and get_scrapy_root_handler() is None:
        spider.logger.warning("%s", _NO_HANDLER)
    return files


def tell_refused(error: Exception, settings: BaseSettings, *, spider: str, arguments: Mapping[str, Any]) -> None:
    """Tell, where that is asked for, of a run that *error* has ended before there was a *spider*."""
    now = datetime.now(UTC)
    end = refused_end(str(error), spider=spider, run=new_run_id(now), now=now)
    for name, (path, _) in defaults.WATCHING.items():
        if settings.get(name) and _lacks(name) is None:
            try:
                import_module(path.rpartition(".")[0]).tell(end, settings, arguments=arguments)
            except (OSError, OptionError) as problem:
                logger.error("%s: %s", name, problem)  # noqa: TRY400 - one line, and no traceback


def check_installed(settings: BaseSettings) -> None:
    """Raise :exc:`OptionError` if a library is asked for that is not installed."""
    asked = (_LOG,) * (settings.get(_LOG) == "json") + tuple(name for name in defaults.WATCHING if settings.get(name))
    for name in asked:
        if (library := _lacks(name)) is not None:
            raise OptionError(
                f"{name} needs {library}, which is not installed: pip install 'scrapy-sitemap-harvest[observe]'"
            )


def _lacks(name: str) -> str | None:
    """Return what has to be installed for the setting *name*; ``None`` if nothing has to."""
    module, library = _NEEDS.get(name, (None, None))
    return library if module is not None and find_spec(module) is None else None
