"""What the report shows beside the findings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import facts
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.audit.facts import ExtensionFacts, LeftOut, OutcomeFacts, PageResponses, RunFacts
from sitemap_harvest.model import PageBatch
from tests.audit import shops
from tests.audit.auditing import page, urls
from tests.snapshots.store.making import SITE, Making, locs

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.audit.facts import DateFacts, SiteFacts
    from sitemap_harvest.snapshots.store import Store


def facts_of(store: Store, site: str = SITE) -> SiteFacts:
    history = store.history(site)
    audit = Audit(history.at("latest"), history, rules=[], with_facts=True)
    assert audit.facts is None
    list(audit.findings())
    assert audit.facts is not None
    return audit.facts


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return shops.store(tmp_path_factory.mktemp("facts"))


@pytest.fixture(scope="module")
def shop(store: Store) -> SiteFacts:
    return facts_of(store)


def test_the_runs_and_their_changes(shop: SiteFacts) -> None:
    assert [(run.urls, run.changes) for run in shop.runs] == [
        (30, {"added": 0, "removed": 0, "changed": 0, "moved": 0, "expired": 0}),
        (35, {"added": 5, "removed": 0, "changed": 30, "moved": 0, "expired": 0}),
        (30, {"added": 3, "removed": 8, "changed": 27, "moved": 0, "expired": 0}),
        (45, {"added": 15, "removed": 0, "changed": 30, "moved": 0, "expired": 0}),
    ]
    assert (
        shop.run
        == shop.runs[-1]
        == RunFacts(
            id=shop.run.id,
            started_at=shops.BEGAN + timedelta(days=3),
            urls=45,
            changes=shop.run.changes,
            complete=True,
        )
    )
    assert (shop.earlier_runs, shop.result, shop.seconds) == (0, "found", 60)
    assert {kind: len(samples) for kind, samples in shop.samples.items()} == {"added": 10, "changed": 10}
    assert shop.samples["changed"][0][1] == "lastmod"


def test_the_documents(shop: SiteFacts) -> None:
    found = [(one.url, one.parent, one.outcome, one.urls, one.dated) for one in shop.documents]
    assert found == [
        (f"{SITE}/robots.txt", None, "read", 0, None),
        (shops.INDEX, f"{SITE}/robots.txt", "read", 0, None),
        (shops.MISSING, shops.INDEX, "absent", 0, None),
        (shops.PRODUCTS, shops.INDEX, "read", 45, 45),
    ]
    assert shop.documents[3].newest == shops.BEGAN + timedelta(days=3)
    assert shop.outcomes == [
        OutcomeFacts(outcome="read", documents=3, urls=45, bytes_downloaded=1_200),
        OutcomeFacts(outcome="absent", documents=1, urls=0, bytes_downloaded=0),
    ]
    assert shop.slowest == [(shops.PRODUCTS, 2.5), (shops.INDEX, 0.2), (f"{SITE}/robots.txt", 0.1)]
    assert (shop.requested, shop.unpacked, shop.tried, shop.left_out) == (4, 12_000, 0, {})


def test_the_extensions_and_languages(shop: SiteFacts) -> None:
    assert shop.extensions == [
        ExtensionFacts(name="Images", urls=22, items=22),
        ExtensionFacts(name="Language versions", urls=22, items=44),
    ]
    assert shop.languages == [("de", 22), ("en", 22)]


def test_documents_beyond_a_limit_are_summed_up_by_parent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "_MOST_DOCUMENTS", 3)
    shop = facts_of(store)
    assert [one.url for one in shop.documents] == [f"{SITE}/robots.txt", shops.INDEX, shops.MISSING]
    assert shop.left_out == {shops.INDEX: LeftOut(documents=1, urls=45)}


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        pytest.param([], {"unit": "month", "periods": [], "missing": 1}, id="none"),
        pytest.param(
            [(2026, 10, 30), (2026, 11, 1), (2026, 11, 1)],
            {"unit": "day", "periods": [("2026-10-30", 1), ("2026-10-31", 0), ("2026-11-01", 2)], "missing": 1},
            id="days",
        ),
        pytest.param(
            [(2026, 7, 30), (2026, 11, 1)],
            {"unit": "month", "periods": [("2026-07-01", 1), *((f"2026-{m:02}-01", m == 11) for m in range(8, 12))]},
            id="months",
        ),
        pytest.param(
            [(2019, 7, 30), (2026, 11, 1)],
            {"unit": "year", "periods": [("2019-01-01", 1), *((f"{y}-01-01", y == 2026) for y in range(2020, 2027))]},
            id="years",
        ),
        pytest.param(
            [(1970, 1, 1), (2026, 11, 1), (9999, 12, 31)],
            {"unit": "day", "periods": [("2026-11-01", 1)], "ancient": 1, "future": 1},
            id="beyond",
        ),
    ],
)
def test_dates(tmp_path: Path, dates: list[tuple[int, int, int]], expected: dict[str, Any]) -> None:
    making = Making(tmp_path)
    entries = [
        *urls(f"{SITE}/"),
        *[one for date in dates for one in urls(f"{SITE}/{date}", lastmod=datetime(*date, tzinfo=UTC))],
    ]
    making.run({f"{SITE}/s.xml": entries})
    assert _shown(facts_of(making.store).dates) == {"missing": 1, "ancient": 0, "future": 0} | expected


def _shown(dates: DateFacts) -> dict[str, Any]:
    periods = [(f"{begin:%Y-%m-%d}", count) for begin, count in dates.periods]
    return {name: getattr(dates, name) for name in ("unit", "missing", "ancient", "future")} | {"periods": periods}


def test_a_site_where_nothing_was_read(store: Store) -> None:
    nothing = facts_of(store, shops.NOTHING)
    assert (nothing.result, nothing.documents, nothing.requested, nothing.outcomes) == ("unreachable", [], 0, [])
    assert (nothing.extensions, nothing.languages, nothing.pages, nothing.trust) == ([], [], [], [])


def test_the_responses_of_pages(tmp_path: Path) -> None:
    making = Making(tmp_path)
    snapshot = making.run({f"{SITE}/s.xml": locs(6)})
    pages = [
        page(locs(6)[0]),
        page(locs(6)[1]),
        page(locs(6)[2], redirects=(locs(6)[0],), redirect_statuses=(301,)),
        page(locs(6)[3], method=None, status=None, final_url=None, error="robots.txt disallows it"),
        page(locs(6)[4], method=None, status=None, final_url=None, error="too long"),
        page(locs(6)[5], method=None, status=None, final_url=None, error="too long"),
    ]
    audit = Audit(snapshot, making.store.history(SITE), rules=[], with_facts=True, pages=[PageBatch.of(pages).arrow])
    list(audit.findings())
    assert audit.facts is not None
    not_requested: Any = {"source": "probe", "is_requested": False, "status": None, "is_redirected": False}
    assert audit.facts.pages == [
        PageResponses(source="probe", is_requested=True, status=200, is_redirected=False, pages=2, reason=None),
        PageResponses(source="probe", is_requested=True, status=200, is_redirected=True, pages=1, reason=None),
        PageResponses(**not_requested, pages=1, reason="robots.txt disallows it"),
        PageResponses(**not_requested, pages=2, reason="too long"),
    ]
