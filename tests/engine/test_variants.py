"""Daily runs into a store over a site that does not respond under the URL that the user named, but under a variant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import open_store
from tests.documents import urlset
from tests.engine.run import Web, harvest, session_of

if TYPE_CHECKING:
    from pathlib import Path

NAMED, OTHER = "https://www.example.com", "http://www.example.com"
SILENT: Web = dict.fromkeys([f"{base}/robots.txt" for base in (NAMED, "https://example.com", "http://example.com")])
RULES = f"Sitemap: {OTHER}/s.xml".encode()
LISTED: Web = SILENT | {f"{OTHER}/robots.txt": RULES}
A, B = (f"{OTHER}/{name}" for name in "ab")
BOTH, ONE = (urlset("".join(f"<url><loc>{url}</loc></url>" for url in urls)) for urls in ((A, B), (A,)))
FIRST_DAY = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)
GONE = {("removed", B)}
ANSWERS = {f"{NAMED}/robots.txt": RULES}


@pytest.mark.parametrize(
    ("path", "days", "changes", "complete"),
    [
        pytest.param("s.xml", [LISTED] * 3, [set(), GONE, set()], [True, True, True], id="listed"),
        pytest.param("sitemap.xml", [SILENT] * 3, [set(), GONE, set()], [True, True, True], id="no-robots-txt"),
        pytest.param("s.xml", [LISTED, LISTED | {f"{OTHER}/robots.txt": None}, LISTED], [set(), set(), GONE],
                     [True, False, True], id="no-variant-responds-for-a-day"),
        pytest.param("sitemap.xml", [SILENT, SILENT | {f"{OTHER}/robots.txt": None}, SILENT], [set(), set(), GONE],
                     [True, False, True], id="no-variant-responds-for-a-day-without-a-robots-txt"),
        pytest.param("sitemap.xml", [SILENT, SILENT | {f"{OTHER}/robots.txt": 500}, SILENT], [set(), set(), GONE],
                     [True, False, True], id="the-variant-is-broken-for-a-day"),
        pytest.param("s.xml", [LISTED | ANSWERS, LISTED, LISTED | ANSWERS], [set(), set(), GONE],
                     [True, False, True], id="the-named-site-responded-before"),
    ],
)  # fmt: skip
def test_a_guess_that_never_responded_keeps_no_removal_pending(
    tmp_path: Path, path: str, days: list[Web], changes: list[set[tuple[str, str]]], complete: list[bool]
) -> None:
    arguments = {"site": NAMED, "emit": "changes,sites", "store": str(tmp_path)}
    found = []
    for day, web in enumerate(days):
        session = session_of(arguments, FIRST_DAY + timedelta(days=day))
        result = harvest(web | {f"{OTHER}/{path}": ONE if day else BOTH}, session=session, **arguments)
        assert result.sites == {NAMED: "found"}
        found.append(result.changes)
    history = open_store(str(tmp_path)).site(NAMED)
    assert (found, [run.complete for run in history.runs]) == (changes, complete)
