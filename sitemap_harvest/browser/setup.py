"""Enables the browser in a run, and checks its requirements. Imports nothing that only browser runs need."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.misc import load_object

from sitemap_harvest.config.settings import ALWAYS, FALLBACK, NEVER
from sitemap_harvest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

SETTING = "SITEMAP_HARVEST_BROWSER"
MIDDLEWARE = "sitemap_harvest.browser.middleware.BrowserMiddleware"
# Next to the downloader, behind the package's other middlewares: to them its responses come from the server.
_ORDER = 1_000_002
_INSTALL = 'pip install "scrapy-sitemap-harvest[browser]"'


def enable_browser(settings: BaseSettings, *given: Mapping[str, Any]) -> None:
    """Add the browser to *settings* if it is enabled by the first of *given* (arguments), or else by a setting.

    Invalid values are reported by the checks elsewhere.
    """
    named = (arguments["browser"] for arguments in given if arguments.get("browser") is not None)
    mode = next(named, settings.get(SETTING, NEVER))
    if mode in {FALLBACK, ALWAYS} and not settings.frozen:
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", load_object(MIDDLEWARE), _ORDER)


def check_browser(settings: BaseSettings, mode: str) -> None:
    """Raise :exc:`OptionError` if *mode* needs a browser and a requirement is missing."""
    if mode == NEVER:
        return
    spec = f"browser={mode} ({SETTING})"
    if any(find_spec(name) is None for name in ("scrapy_playwright", "playwright")):
        raise OptionError(f"{spec} needs scrapy-playwright, which is not installed: {_INSTALL}")
    if not is_asyncio_available():
        raise OptionError(f"{spec} needs asyncio; TWISTED_REACTOR names a reactor without it")
    from sitemap_harvest.browser.chromium import launch_options  # imports Playwright

    try:
        options = launch_options(settings)
    except (TypeError, ValueError) as error:
        example = '{"executable_path": "/usr/bin/chromium"}'
        raise OptionError(f"PLAYWRIGHT_LAUNCH_OPTIONS: it must be a dictionary, such as {example}") from error
    if options is None:
        raise OptionError(
            f"{spec} needs Chromium, which was not found: call `playwright install chromium`, or install the package "
            "chromium of your system, or name one in PLAYWRIGHT_LAUNCH_OPTIONS (executable_path)"
        )
    path = options.get("executable_path")
    if path is not None and not Path(path).is_file():
        raise OptionError(f"PLAYWRIGHT_LAUNCH_OPTIONS: executable_path is {str(path)!r}; there is no such file")
