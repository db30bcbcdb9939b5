"""Whether a run may use a browser, and what has to be there for it. Imports nothing that only such a run needs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.misc import load_object

from sitemap_harvest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

NEVER, FALLBACK, ALWAYS = MODES = ("never", "fallback", "always")
SETTING = "SITEMAP_HARVEST_BROWSER"
MIDDLEWARE = "sitemap_harvest.crawl.browser.middleware.BrowserFallback"
# Next to the downloader, behind all others of ours: what it gives is to all of them what the server gave.
_ORDER = 1_000_002
_INSTALL = 'pip install "scrapy-sitemap-harvest[browser]"'


def put_in_place(settings: BaseSettings, *given: Mapping[str, Any]) -> None:
    """Put the browser into *settings* if it is wanted: as the first of *given*, arguments, says, or else a setting.

    What is wrong is left to who checks it.
    """
    named = (arguments["browser"] for arguments in given if arguments.get("browser") is not None)
    mode = next(named, settings.get(SETTING, NEVER))
    if mode in {FALLBACK, ALWAYS} and not settings.frozen:
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", load_object(MIDDLEWARE), _ORDER)


def check_browser(settings: BaseSettings, mode: str) -> None:
    """Raise :exc:`OptionError` if *mode* needs a browser and something is not there for it."""
    if mode == NEVER:
        return
    wish = f"browser={mode} ({SETTING})"
    if any(find_spec(name) is None for name in ("scrapy_playwright", "playwright")):
        raise OptionError(f"{wish} needs scrapy-playwright, which is not installed: {_INSTALL}")
    if not is_asyncio_available():
        raise OptionError(f"{wish} needs asyncio; TWISTED_REACTOR names a reactor without it")
    from sitemap_harvest.crawl.browser.chromium import launch_options  # imports Playwright

    try:
        options = launch_options(settings)
    except (TypeError, ValueError) as error:
        example = '{"executable_path": "/usr/bin/chromium"}'
        raise OptionError(f"PLAYWRIGHT_LAUNCH_OPTIONS: it must be a dictionary, such as {example}") from error
    if options is None:
        raise OptionError(
            f"{wish} needs Chromium, and none is found: call `playwright install chromium`, or install the package "
            "chromium of your system, or name one in PLAYWRIGHT_LAUNCH_OPTIONS (executable_path)"
        )
    path = options.get("executable_path")
    if path is not None and not Path(path).is_file():
        raise OptionError(f"PLAYWRIGHT_LAUNCH_OPTIONS: executable_path is {str(path)!r}; there is no such file")
