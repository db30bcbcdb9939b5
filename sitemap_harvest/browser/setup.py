"""The requirements of the browser: ``check_browser``, and ``launch_options``. Imports no Playwright."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import is_asyncio_available

from sitemap_harvest.errors import OptionError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_ARGUMENTS = (  # with those of Playwright, they disable network requests that are not for the page
    "--disable-gpu",
    "--disable-quic",
    "--disable-domain-reliability",
    "--no-pings",
    "--blink-settings=imagesEnabled=false",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its former name
)
_LAUNCH_MILLISECONDS = 60_000
_INSTALL = 'pip install "scrapy-sitemap-harvest[browser]"'


class BrowserGoneError(Exception):
    """There is no browser, or it has ended; the message is the reason."""


def check_browser(settings: BaseSettings, mode: str) -> None:
    """Raise :exc:`OptionError` if a requirement of the *mode* of the browser is missing."""
    spec = f"browser={mode} (SITEMAP_HARVEST_BROWSER)"
    if any(find_spec(name) is None for name in ("scrapy_playwright", "playwright")):
        raise OptionError(f"{spec} needs scrapy-playwright, which is not installed: {_INSTALL}")
    if not is_asyncio_available():
        raise OptionError(f"{spec} needs asyncio: set TWISTED_REACTOR to an asyncio reactor")
    try:
        options = launch_options(settings)
    except (TypeError, ValueError) as error:
        example = '{"executable_path": "/usr/bin/chromium"}'
        raise OptionError(f"PLAYWRIGHT_LAUNCH_OPTIONS must be a dictionary, such as {example}") from error
    if options is None:
        raise OptionError(
            f"{spec} needs Chromium, which was not found: run `playwright install chromium`, or install your system's "
            "chromium package, or set executable_path in PLAYWRIGHT_LAUNCH_OPTIONS"
        )
    path = options.get("executable_path")
    if path is not None and not Path(path).is_file():
        raise OptionError(f"PLAYWRIGHT_LAUNCH_OPTIONS: executable_path is {str(path)!r}; there is no such file")


def launch_options(settings: BaseSettings) -> dict[str, Any] | None:
    """Return the launch options of Chromium: from settings, or as found; ``None`` if there is no browser."""
    is_for_chromium = (settings.get("PLAYWRIGHT_BROWSER_TYPE") or "chromium") == "chromium"
    given: dict[str, Any] = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS") if is_for_chromium else {}
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium does not start as root with its sandbox
    arguments = [*_ARGUMENTS, *(["--no-sandbox"] if is_root else [])]
    options: dict[str, Any] = {"args": arguments, "timeout": _LAUNCH_MILLISECONDS, **given}
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")  # the target of ``playwright install chromium``
    installed = Path(folder or Path.home() / ".cache" / "ms-playwright").glob("chromium*")
    if given.keys() & {"executable_path", "channel"} or folder == "0" or any(installed):
        return options
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return None if found is None else {**options, "executable_path": found}
