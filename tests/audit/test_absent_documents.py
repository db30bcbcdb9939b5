"""A document that is absent in one run after the other is audited in the same way in each, also when it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.audit import RULES
from sitemap_harvest.snapshots.store import open_store
from tests.audit.auditing import SITE, audit_of_web
from tests.site import index, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.audit.audit import Audit
    from tests.engine.run import Web

RUNS = range(4)  # the document leaves the snapshot in the third
ROBOTS, INDEX, A, B = (f"{SITE}/{name}" for name in ("robots.txt", "index.xml", "a.xml", "b.xml"))
WEB: Web = {
    ROBOTS: f"User-agent: *\nDisallow: /2\nSitemap: {INDEX}".encode(),
    INDEX: index(A, B).encode(),
    A: urlset(f"{SITE}/1").encode(),
    B: urlset(f"{SITE}/2", f"{SITE}/").encode(),
}


def audited(path: Path, *names: str, gone: str) -> list[tuple[list[tuple[Any, ...]], tuple[int, ...]]]:
    """Return what rules *names* find, and the counts, in each of some runs after one good run, with *gone* absent."""
    audit_of_web(path, WEB, site=SITE)
    rules = [RULES[name] for name in names]
    return [_found(audit_of_web(path, WEB | {gone: 404}, rules=rules, site=SITE)) for _ in RUNS]


def _found(audit: Audit) -> tuple[list[tuple[Any, ...]], tuple[int, ...]]:
    """Return the findings of *audit* and the unchecked rules; and the numbers of documents, unread ones and URLs."""
    findings = [(one.rule, one.sitemap, [sample.value for sample in one.samples]) for one in audit.findings()]
    summary = audit.summary()
    assert audit.run.documents == summary.sitemaps
    counts = (summary.sitemaps, summary.unread, summary.urls)
    return [*findings, *((one.rule, one.reason) for one in summary.not_checked)], counts


def test_a_listed_sitemap_is_an_error_in_each_run(tmp_path: Path) -> None:
    error = ("sitemap/not-fetched", B, ["HTTP 404: the server has no such document"])
    unread = ("site/home-page-missing", "a document that was not read completely may list what seems to be missing")
    assert audited(tmp_path, "sitemap/not-fetched", "site/home-page-missing", gone=B) == [
        ([error], (4, 1, 3)),
        ([error], (4, 1, 3)),
        ([error, unread], (4, 1, 1)),
        ([error, unread], (4, 1, 1)),
    ]


def test_a_document_that_only_robots_txt_named_is_named_by_nothing_once_that_left(tmp_path: Path) -> None:
    unread = ("site/not-in-robots", "robots.txt or an index was not read completely")
    finding = ("site/not-in-robots", INDEX, [f"named by {ROBOTS}, which is gone"])
    assert audited(tmp_path, "site/not-in-robots", "url/robots-disallowed", gone=ROBOTS) == [
        ([unread], (4, 1, 3)),
        ([unread], (4, 1, 3)),
        ([finding], (4, 0, 3)),
        ([finding], (4, 0, 3)),
    ]


def test_documents_that_only_an_index_named_are_named_by_nothing_once_that_left(tmp_path: Path) -> None:
    unread = ("site/not-in-robots", "robots.txt or an index was not read completely")
    findings = [("site/not-in-robots", url, [f"named by {INDEX}, which is gone"]) for url in (A, B)]
    assert audited(tmp_path, "site/not-in-robots", gone=INDEX) == [
        ([unread], (4, 1, 3)),
        ([unread], (4, 1, 3)),
        (findings, (4, 1, 3)),
        (findings, (4, 1, 3)),
    ]


def test_a_sitemap_whose_target_becomes_listed_is_counted_in_each_run(tmp_path: Path) -> None:
    web = WEB | {B: f"{SITE}/c.xml", f"{SITE}/c.xml": WEB[B]}
    documents = []
    for listed in ((A, B), *[(A, B, f"{SITE}/c.xml")] * 2):  # B leaves the snapshot in the second run
        (*_, counts) = _found(audit_of_web(tmp_path, web | {INDEX: index(*listed).encode()}, rules=[], site=SITE))
        snapshot = open_store(str(tmp_path)).site(SITE).at("latest")
        documents.append((*counts, f"from {counts[0]} documents" in snapshot._repr_html_()))
    assert documents == [(4, 0, 3, True), (5, 0, 3, True), (5, 0, 3, True)]


def test_a_robots_txt_that_no_longer_lists_a_sitemap_is_unread_until_that_is_accepted(tmp_path: Path) -> None:
    audit_of_web(tmp_path, WEB, site=SITE)
    rule = RULES["site/not-in-robots"]
    assert _found(audit_of_web(tmp_path, WEB | {ROBOTS: b"User-agent: *\n"}, rules=[rule], site=SITE)) == (
        [("site/not-in-robots", "robots.txt or an index was not read completely")],
        (4, 1, 3),
    )
