"""What notebooks show, in Chromium: no script of a site runs, and charts are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.services import programs
from tests.test_notebook_displays import hostile_objects

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.thorough, pytest.mark.service]


def test_a_notebook_runs_no_script_of_a_site_and_draws_charts(tmp_path: Path) -> None:
    executable = programs.browser()
    from playwright.sync_api import sync_playwright

    shown = [one._repr_html_() for one in hostile_objects(tmp_path).values()]
    (tmp_path / "notebook.html").write_text(f"<meta charset='utf-8'>{''.join(shown)}", "utf-8")
    heard: list[str] = []
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=executable) as browser:
        page = browser.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: None if request.is_navigation_request() else heard.append(request.url))
        page.goto((tmp_path / "notebook.html").as_uri())
        frame = page.frame_locator("iframe")
        frame.locator(".ct-bar").first.wait_for(state="attached")
        assert frame.locator(".ct-bar").count() == 4  # of two days, up and down
        assert page.locator("script, img").count() == 0
        assert "<script>alert(1)</script>" in page.locator("body").inner_text()
        assert "<script>alert(1)</script>" in frame.locator("h1").inner_text()
    assert heard == []
