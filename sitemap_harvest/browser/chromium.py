"""``Chromium``: finds and starts the browser on first use, restarts it if it crashes, and limits its pages.

The only module that imports Playwright, except for type checking.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError
from scrapy_playwright.handler import Config
from scrapy_playwright.provider import PlaywrightBrowserProvider

from sitemap_harvest.browser.setup import launch_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from playwright.async_api import Browser, Page
    from scrapy.settings import BaseSettings

__all__ = ["BrowserGoneError", "Chromium", "PlaywrightError"]

_NOWHERE = "http://127.0.0.1:1"  # the proxy for background requests of the browser, such as component updates
_MOST_STARTS = 2
_CLOSE_SECONDS = 10
_ANSWER_SECONDS = 30  # for operations that a working browser finishes at once
_logger = logging.getLogger(__name__)


class BrowserGoneError(Exception):
    """There is no browser, or it has ended; the message is the reason."""


class Chromium:
    """The browser of a run, started with the first page."""

    def __init__(self, settings: BaseSettings, *, most_pages: int) -> None:
        """Open at most *most_pages* pages at a time."""
        options = {"proxy": {"server": _NOWHERE}, **(launch_options(settings) or {})}
        config = replace(Config.from_settings(settings), launch_options=options, browser_type_name="chromium")
        self._provider = PlaywrightBrowserProvider(replace(config, cdp_url=None, connect_url=None))
        self._pages = asyncio.Semaphore(most_pages)
        self._starting = asyncio.Lock()
        self._browser: Browser | None = None
        self._is_closed = False
        self._open_pages = 0
        self.most_open_pages = 0
        self.starts = 0
        """Number of starts."""

    @asynccontextmanager
    async def page(
        self, *, proxy: dict[str, str], cookies: Sequence[Any], ignore_https_errors: bool
    ) -> AsyncIterator[Page]:
        """Yield an empty page with *cookies*, in its own context, which is always closed.

        The page connects through *proxy*, even to loopback. Raises
        :exc:`BrowserGoneError` if there is no browser.
        """
        async with self._pages:
            browser = await self._running()
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    context = await browser.new_context(
                        proxy={**proxy, "bypass": "<-loopback>"},  # type: ignore[arg-type]  # a TypedDict of the same names
                        service_workers="block",
                        accept_downloads=False,
                        ignore_https_errors=ignore_https_errors,
                    )
                    await context.add_cookies(cookies)
                    page = await context.new_page()
                    context.on("page", lambda other: asyncio.ensure_future(_end(other.close())))  # blocks further pages
            except (PlaywrightError, TimeoutError) as error:
                await self._give_up(browser)
                raise BrowserGoneError(_first_line(error)) from error
            self._open_pages += 1
            self.most_open_pages = max(self.most_open_pages, self._open_pages)
            try:
                yield page
            except TimeoutError as error:
                await self._give_up(browser)
                raise BrowserGoneError("Chromium is not responding") from error
            finally:
                self._open_pages -= 1
                await _end(context.close())

    async def close(self) -> None:
        """Close the browser and its driver process."""
        self._is_closed = True
        if self._browser is not None:
            await _end(self._browser.close())
        await _end(self._provider.close())

    async def _give_up(self, browser: Browser) -> None:
        """Close *browser*, which is malfunctioning: the next page gets a new one."""
        if self._browser is browser:
            self._browser = None
        await _end(browser.close())

    async def _running(self) -> Browser:
        async with self._starting:
            if self._is_closed:
                raise BrowserGoneError("the run is ending")
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            if self.starts >= _MOST_STARTS:
                raise BrowserGoneError("it crashed twice and will not be restarted")
            self.starts += 1
            try:
                if self._provider.playwright is None:
                    await self._provider.start()
                self._browser = await self._provider.launch_browser()
            except (PlaywrightError, OSError, TypeError) as error:  # TypeError: an unknown option
                raise BrowserGoneError(f"Chromium could not be started: {_first_line(error)}") from error
            return self._browser


async def _end(closing: Any) -> None:
    """Wait for *closing*, and ignore failures, because the browser may have crashed or hang."""
    task = asyncio.ensure_future(closing)
    done, _ = await asyncio.wait({task}, timeout=_CLOSE_SECONDS)
    if not done:
        task.cancel()
        _logger.debug("The browser does not respond")
    elif not task.cancelled() and (error := task.exception()):
        _logger.debug("The browser exited: %s", _first_line(error))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
