"""``ProbedPage``: what a probe requests next, and the record that results. The crawls test the rest."""

from __future__ import annotations

import pytest

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.interfaces import DocumentResponse
from sitemap_harvest.engine.probed_page import ProbedPage
from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.snapshots.sample import SampledPage

SITE = "https://a.example"
URL = f"{SITE}/a"
HTML = {"content-type": ["text/html"]}
NOW = 1_790_000_000.0


def page(loc=URL):
    return ProbedPage(SITE, "run", SampledPage(loc, URL, f"{SITE}/s.xml"))


def answered(probed, status=200, headers=HTML, body=b""):
    return probed.answered(DocumentResponse(url=probed.url, status=status, headers=headers, body=body), NOW)


@pytest.mark.parametrize(
    ("status", "headers", "needs_get"),
    [
        pytest.param(200, HTML, True, id="html"),
        pytest.param(200, {"content-type": ["Application/XHTML+xml; charset=utf-8"]}, True, id="xhtml"),
        pytest.param(200, {}, True, id="no-type"),
        pytest.param(200, {"content-type": ["application/pdf"]}, False, id="pdf"),
        pytest.param(204, HTML, False, id="no-content"),
        pytest.param(304, HTML, False, id="not-modified"),
        pytest.param(301, HTML, False, id="redirect-to-nowhere"),
        *(pytest.param(status, HTML, True, id=str(status)) for status in (400, 403, 404, 405, 429, 500, 501, 503)),
    ],
)
def test_get_follows_head_where_the_page_has_to_be_seen(status, headers, needs_get):
    probed = page()
    record = answered(probed, status, headers)
    assert (record is None, probed.method, probed.url) == (needs_get, "GET" if needs_get else "HEAD", URL)
    if not needs_get:
        assert (record.status, record.method) == (status, "HEAD")


@pytest.mark.parametrize(
    ("cause", "needs_get"),
    [(cause, cause in {Cause.CONNECTION, Cause.TIMEOUT, Cause.NOT_HTTP}) for cause in Cause],
)
def test_get_follows_head_where_it_may_succeed(cause, needs_get):
    probed = page()
    record = probed.failed(NotFetched(Outcome.FAILED, "why", cause), NOW)
    assert (record is None, probed.method) == (needs_get, "GET" if needs_get else "HEAD")
    record = record or probed.failed(NotFetched(Outcome.FAILED, "why", cause), NOW)
    assert (record.status, record.error, record.cause) == (None, "why", cause)
    assert (record.requested_at is None) == (cause is Cause.PRIVATE)


@pytest.mark.parametrize("outcome", [Outcome.FORBIDDEN, Outcome.SKIPPED, Outcome.OUT_OF_SCOPE])
def test_a_page_that_may_not_be_requested_has_no_time_and_no_method(outcome):
    record = page().failed(NotFetched(outcome, "no"), NOW)
    assert (record.requested_at, record.method, record.error) == (None, None, "no")


def test_the_method_of_a_redirect_is_kept():
    probed = page()
    assert answered(probed, 405) is None
    assert answered(probed, 302, {"location": ["/b"]}) is None
    assert (probed.method, probed.url) == ("GET", f"{SITE}/b")
    record = answered(probed, body=b"<title>B</title>")
    assert (record.url, record.final_url, record.redirects, record.title) == (URL, f"{SITE}/b", (f"{SITE}/b",), "B")


def test_neither_a_login_nor_a_fragment_is_requested():
    probed = page("https://user:secret@a.example/a#part")
    assert probed.url == URL
    assert answered(probed, 301, {"location": ["https://a.example/a#other"]}).error.startswith("redirect loop: ")


@pytest.mark.parametrize(("redirects", "is_read"), [(10, True), (11, False)])
def test_ten_redirects_are_followed(redirects, is_read):
    probed = page()
    records = [answered(probed, 301, {"location": [f"/{number}"]}) for number in range(redirects)]
    assert records[:10] == [None] * 10
    assert is_read or records[10].error == "more than 10 redirects"
