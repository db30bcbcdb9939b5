"""Chromium: found, started when it is first needed, started anew once if it ends, and never more pages than allowed.

The only module that knows Playwright.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError
from scrapy_playwright.handler import Config
from scrapy_playwright.provider import PlaywrightBrowserProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from playwright.async_api import Browser, BrowserContext, Page, Route
    from scrapy.settings import BaseSettings

__all__ = ["BrowserGoneError", "Chromium", "PlaywrightError", "launch_options"]

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_ARGUMENTS = (  # what keeps it from asking the network for things that nobody wants
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # what it was called before
)
_NOT_NEEDED = frozenset({"image", "media", "font"})
_MOST_STARTS = 2
_CLOSE_SECONDS = 10
_LAUNCH_SECONDS = 60
_ANSWER_SECONDS = 30  # for what a browser does in no time
_logger = logging.getLogger(__name__)


class BrowserGoneError(Exception):
    """There is no browser, or no more: its words say why."""


def launch_options(settings: BaseSettings) -> dict[str, Any] | None:
    """Return how Chromium is started: as the user says, or as it is found; ``None`` if none is."""
    is_for_chromium = (settings.get("PLAYWRIGHT_BROWSER_TYPE") or "chromium") == "chromium"
    given: dict[str, Any] = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS") if is_for_chromium else {}
    options: dict[str, Any] = {"args": _arguments(), "timeout": _LAUNCH_SECONDS * 1000, **given}
    if given.keys() & {"executable_path", "channel"} or _has_its_own():
        return options
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return None if found is None else {**options, "executable_path": found}


def _arguments() -> list[str]:
    # Chromium does not start as root with its sandbox on.
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [*_ARGUMENTS, *(["--no-sandbox"] if is_root else [])]


def _has_its_own() -> bool:
    """Whether ``playwright install chromium`` has been called, as far as the folder tells in which it puts things."""
    usual = Path.home() / ".cache" / "ms-playwright"
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    return any(Path(folder or usual).glob("chromium*")) if folder != "0" else True


class Chromium:
    """The browser of a run, with none started before the first page."""

    def __init__(self, settings: BaseSettings, *, most_pages: int) -> None:
        """Have at most *most_pages* pages open at a time."""
        config = replace(Config.from_settings(settings), launch_options=launch_options(settings) or {})
        self._config = replace(config, cdp_url=None, connect_url=None, browser_type_name="chromium")
        self._pages = asyncio.Semaphore(most_pages)
        self._starting = asyncio.Lock()
        self._provider: PlaywrightBrowserProvider | None = None
        self._browser: Browser | None = None
        self._is_closed = False
        self.starts = 0
        """How often it was started."""
        self.open_pages = 0
        self.most_open_pages = 0

    @asynccontextmanager
    async def page(
        self, *, proxy: dict[str, str], dead_end: str, cookies: Sequence[Any], ignore_https_errors: bool
    ) -> AsyncIterator[Page]:
        """Give an empty page with *cookies*, in a context of its own, which is closed whatever happens.

        The page goes out through *proxy*. What the browser asks for by itself, such as news of its parts, gets as far
        as *dead_end*, the address of a proxy that lets nobody through.
        Raises :exc:`BrowserGoneError` if there is no browser.
        """
        async with self._pages:
            browser = await self._running(dead_end)
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    context = await browser.new_context(
                        proxy=proxy,  # type: ignore[arg-type]  # a TypedDict of the same names
                        service_workers="block",
                        accept_downloads=False,
                        ignore_https_errors=ignore_https_errors,
                    )
            except (PlaywrightError, TimeoutError) as error:
                await self.give_up(browser)
                raise BrowserGoneError(_first_line(error)) from error
            self.open_pages += 1
            self.most_open_pages = max(self.most_open_pages, self.open_pages)
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    page = await _new_page(context, cookies)
                yield page
            except TimeoutError as error:
                await self.give_up(browser)
                raise BrowserGoneError("it does not answer") from error
            finally:
                self.open_pages -= 1
                await _end(context.close())

    async def give_up(self, browser: Browser) -> None:
        """End *browser*, which does not do as it should: the next page gets a new one."""
        if self._browser is browser:
            self._browser = None
        await _end(browser.close())

    async def close(self) -> None:
        """End the browser, and the program that drives it."""
        self._is_closed = True
        if self._browser is not None:
            await _end(self._browser.close())
        if self._provider is not None:
            await _end(self._provider.close())

    async def _running(self, dead_end: str) -> Browser:
        async with self._starting:
            if self._is_closed:
                raise BrowserGoneError("the run ends")
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            if self.starts >= _MOST_STARTS:
                raise BrowserGoneError("it ended twice in the middle of its work, and is not started again")
            self.starts += 1
            try:
                if self._provider is None:
                    options = {"proxy": {"server": dead_end}, **self._config.launch_options}
                    self._provider = PlaywrightBrowserProvider(replace(self._config, launch_options=options))
                    await self._provider.start()
                self._browser = await self._provider.launch_browser()
            except (PlaywrightError, OSError, TypeError) as error:  # TypeError: an option that there is not
                raise BrowserGoneError(f"it does not start: {_first_line(error)}") from error
            return self._browser


async def _new_page(context: BrowserContext, cookies: Sequence[Any]) -> Page:
    """Return an empty page of *context* that has *cookies*, and that stays its only one."""
    await context.route("**/*", _let_pass)
    if cookies:
        await context.add_cookies(cookies)
    page = await context.new_page()
    context.on("page", lambda other: asyncio.ensure_future(_end(other.close())))
    return page


async def _let_pass(route: Route) -> None:
    """Let a request of a page go out, unless it is for something to look at."""
    with suppress(PlaywrightError):  # the page has gone
        if route.request.resource_type in _NOT_NEEDED:
            await route.abort()
        else:
            await route.continue_()


async def _end(closing: Any) -> None:
    """Wait for *closing*, of which nothing can be hoped where the browser has ended, or hangs."""
    task = asyncio.ensure_future(closing)
    done, _ = await asyncio.wait({task}, timeout=_CLOSE_SECONDS)
    if not done:
        task.cancel()
        _logger.debug("The browser does not answer")
    elif not task.cancelled() and (error := task.exception()):
        _logger.debug("The browser had ended: %s", _first_line(error))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
