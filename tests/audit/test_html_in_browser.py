"""The report in Chromium: it works by mouse and keyboard, fetches nothing, and is accessible."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.audit.report.html import HtmlReport
from tests.audit import shops
from tests.services import programs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.thorough, pytest.mark.service]
TITLES = "#rules tbody:not([hidden]) .title"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the overview of all sites, and a page for each; that of the shop is also ``shop.html``."""
    path = tmp_path_factory.mktemp("report")
    store = shops.store(path / "s")
    report, shop = HtmlReport(path / "all", is_folder=True), HtmlReport(path / "shop.html")
    for site in shops.SITES:
        report.add(shops.audited(store, site))
    shop.add(shops.audited(store, shops.SHOP))
    for one in (report, shop):
        one.close()
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = programs.browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=executable)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may fetch nothing beside the files that it is sent to, and logs nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.on("request", lambda request: None if request.is_navigation_request() else heard.append(request.url))
    yield page
    context.close()
    assert heard == []


def texts(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def names(page: Page) -> list[str]:
    return page.eval_on_selector_all("#rules tbody:not([hidden])", "all => all.map(one => one.dataset.name)")


def test_findings_open_sort_and_filter(page: Page, folder: Path) -> None:
    page.goto((folder / "shop.html").as_uri())
    everything = names(page)
    assert page.locator(".extra:visible").count() == 0
    page.locator(TITLES).first.click()
    assert texts(page, ".extra:visible .fix") == ["Fix Serve the sitemap, or remove its reference."]
    page.locator(TITLES).first.click()
    assert page.locator(".extra:visible").count() == 0

    page.get_by_role("button", name="Rule", exact=True).click()
    assert names(page) == sorted(everything)
    assert texts(page, "th[aria-sort='ascending']") == ["Rule"]
    page.get_by_role("button", name="Rule", exact=True).click()
    assert names(page) == sorted(everything, reverse=True)
    page.get_by_role("button", name="Occurrences").click()
    counts = page.eval_on_selector_all("#rules tbody", "all => all.map(one => Number(one.dataset.count))")
    assert counts == sorted(counts, reverse=True)

    page.get_by_role("searchbox").fill("p/0#part fragment")
    assert names(page) == ["url/fragment"]
    assert page.locator("#shown").inner_text() == f"1 of {len(everything)} rules"
    page.get_by_role("searchbox").fill("")
    page.get_by_label("warning").uncheck()
    assert "url/fragment" not in names(page)
    page.get_by_role("link", name="rules with warnings").or_(
        page.get_by_role("link", name="rule with warnings")
    ).click()
    assert page.locator("#rules tbody:not([hidden]) .badge").first.inner_text() == "warning"
    assert len(set(texts(page, "#rules tbody:not([hidden]) .head .badge"))) == 1

    page.get_by_role("button", name="Open all").click()
    assert page.locator(".extra:visible").count() == len(names(page))


def test_the_keyboard_reaches_everything(page: Page, folder: Path) -> None:
    page.goto((folder / "shop.html").as_uri())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/shop.html#main")
    page.locator(TITLES).first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".extra:visible").count() == 1
    page.keyboard.press("Space")
    assert page.locator(".extra:visible").count() == 0
    page.get_by_role("button", name="Documents below /index.xml").focus()
    page.keyboard.press("Enter")
    assert texts(page, "#tree tbody tr:visible th") == ["/robots.txt robots", "/index.xml index"]


def test_a_link_to_a_rule_opens_it(page: Page, folder: Path) -> None:
    page.goto((folder / "shop.html").as_uri())
    page.get_by_label("warning").uncheck()
    page.locator("#changes a[href^='#rule-']").first.click()
    page.locator(".extra:visible").first.wait_for()  # the browser reports the new address a moment later
    assert page.locator(".extra:visible").count() == 1
    page.goto((folder / "shop.html").as_uri() + "#rule-url-fragment")
    page.locator("#rule-url-fragment .extra").wait_for()


def test_charts_are_drawn_from_their_tables(page: Page, folder: Path) -> None:
    page.goto((folder / "shop.html").as_uri())
    page.locator(".ct-bar").first.wait_for(state="attached")
    assert page.locator("#runs .ct-point").count() == 4
    titles = page.eval_on_selector_all("#runs .ct-point title", "all => all.map(one => one.textContent)")
    assert titles[-1] == "2026-11-04 03:00: 45 URLs"
    page.get_by_text("URLs by run: as a table", exact=True).click()
    assert texts(page, "#runs figure:first-of-type tbody tr") == [
        "2026-11-01 03:00\t30", "2026-11-02 03:00\t35", "2026-11-03 03:00\t30", "2026-11-04 03:00\t45"
    ]  # fmt: skip


def test_the_theme_changes_and_is_remembered(page: Page, folder: Path) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto((folder / "shop.html").as_uri())
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Theme: light"
    light = page.evaluate(background)
    assert light != dark
    page.reload()
    assert page.evaluate(background) == light
    page.locator("#theme").click()
    assert page.evaluate(background) == dark


def test_the_overview_leads_to_each_page_and_back(page: Page, folder: Path) -> None:
    page.goto((folder / "all" / "index.html").as_uri())
    page.get_by_role("button", name="URLs").click()
    assert texts(page, "#sites tbody a")[0] == shops.SHOP
    for site in shops.SITES:
        page.get_by_role("link", name=site).click()
        assert page.locator("h1").inner_text() == site
        page.get_by_role("link", name="All sites").click()
    assert page.title() == "Sitemap audit of 5 sites"


def test_hostile_texts_do_nothing(page: Page, folder: Path) -> None:
    (file,) = (folder / "all").glob("*hostile*")
    page.goto(file.as_uri())
    page.get_by_role("button", name="Open all").click()
    for summary in page.locator("summary").all():
        summary.click()
    page.mouse.move(640, 450)
    assert page.title() == f"Sitemap audit of {shops.HOSTILE}"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(page: Page, folder: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for file in [folder / "shop.html", *(folder / "all").iterdir()]:
        page.goto(file.as_uri())
        if page.get_by_role("button", name="Open all").count():
            page.get_by_role("button", name="Open all").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file


def test_everything_is_on_paper(page: Page, folder: Path) -> None:
    page.goto((folder / "shop.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".extra:visible").count() == len(names(page))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".contents").is_hidden()


def test_without_scripts_everything_is_visible(browser: Browser, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "shop.html").as_uri())
    assert page.locator(".extra:visible").count() == page.locator("#rules tbody").count() > 5
    assert page.locator("#filter").is_hidden()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_no_violation(browser: Browser, folder: Path, scheme: str, width: int) -> None:
    axe = programs.npm_package("axe-core") / "axe.min.js"
    viewport = {"width": width, "height": 900}
    context = browser.new_context(color_scheme=scheme, viewport=viewport, bypass_csp=True)
    for file in [folder / "shop.html", folder / "all" / "index.html", *(folder / "all").glob("*nothing*")]:
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("document.querySelector('#all')?.click()")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.evaluate(axe.read_text())
        found = page.evaluate("axe.run({rules: {'target-size': {enabled: true}}})")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == [], file
    context.close()


@pytest.mark.parametrize("name", ["shop.html", "all/index.html"])
def test_lighthouse_gives_the_full_score(folder: Path, tmp_path: Path, name: str) -> None:
    lighthouse = programs.npm_package("lighthouse") / "cli" / "index.js"
    handler = partial(_Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        subprocess.run(
            [
                "node", lighthouse, f"http://127.0.0.1:{server.server_port}/{name}", "--quiet", "--output=json",
                f"--output-path={tmp_path / 'result.json'}", "--only-categories=accessibility",
                "--chrome-flags=--headless=new --no-sandbox", "--no-enable-error-reporting",
            ],
            env={**os.environ, "CHROME_PATH": programs.chromium()}, check=True, timeout=600,
        )  # fmt: skip
        server.shutdown()
    result = json.loads((tmp_path / "result.json").read_text())
    failed = [name for name, audit in result["audits"].items() if audit["score"] not in {1, None}]
    assert (result["categories"]["accessibility"]["score"], failed) == (1, [])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
