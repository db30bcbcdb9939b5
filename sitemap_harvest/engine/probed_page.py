"""``ProbedPage``: one page that a probe looks at: what to request next, and the record that results.

HEAD comes first. GET follows where HEAD fails, and where the page has to be seen: an
HTML page with status 200. Redirects are followed one by one, so that each is recorded.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date
from sitemap_harvest.formats.collector import MIB, Limits
from sitemap_harvest.formats.html.html_facts import header_canonical, html_facts
from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.formats.source import Source
from sitemap_harvest.model import Cause, Outcome, PageRecord, PageSource
from sitemap_harvest.urls import join, without_user

if TYPE_CHECKING:
    from sitemap_harvest.discovery.candidate import NotFetched
    from sitemap_harvest.engine.interfaces import DocumentResponse
    from sitemap_harvest.snapshots.sample import SampledPage

MAX_BODY_BYTES = 512 * 1024
"""As downloaded; the rest of a page is not read."""
_LIMITS = Limits(unpacked_bytes=2 * MIB)
_MAX_REDIRECTS = 10  # as Googlebot
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHALLENGES = frozenset({200, 403, 429, 503})  # statuses of challenge pages
_HTML = ("text/html", "application/xhtml+xml")
_GET_MAY_SUCCEED = frozenset({Cause.CONNECTION, Cause.TIMEOUT, Cause.NOT_HTTP})
_NOT_REQUESTED = frozenset({Outcome.FORBIDDEN, Outcome.SKIPPED, Outcome.OUT_OF_SCOPE, Outcome.OVER_LIMIT})


@dataclass(slots=True, eq=False)
class ProbedPage:
    """One page of a sample."""

    site: str
    run: str
    page: SampledPage
    url: str = ""
    """The URL to request next."""
    method: str = "HEAD"
    """The method to request it with."""
    requested_at: datetime | None = None
    received: int = 0
    """Bytes of the body of the current response."""
    redirects: list[str] = field(default_factory=list)
    redirect_statuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.url = _without_fragment(without_user(self.page.loc))

    def answered(self, response: DocumentResponse, requested_at: float) -> PageRecord | None:
        """Return the record if *response* is the last one; ``None`` if :attr:`url` is to be requested next.

        *requested_at*: when it was requested, in seconds since 1970.
        """
        self._note(requested_at)
        location = response.header("location")
        if response.status in _REDIRECTS and location is not None:
            return self._redirected(response.status, location)
        is_html = may_be_html(response.header("content-type"))
        if self.method == "HEAD" and (response.status >= 400 or (response.status == 200 and is_html)):
            self.method = "GET"
            return None
        record = self._record(response)
        if self.method == "GET" and response.body and is_html:
            _add_facts(record, response)
        return record

    def failed(self, failure: NotFetched, requested_at: float) -> PageRecord | None:
        """Return the record of a page that *failure* ends; ``None`` if :attr:`url` is to be requested next."""
        if failure.outcome not in _NOT_REQUESTED and failure.cause is not Cause.PRIVATE:
            self._note(requested_at)
        if self.method == "HEAD" and failure.cause in _GET_MAY_SUCCEED:
            self.method = "GET"
            return None
        return self.not_answered(failure.reason, failure.cause)

    def not_answered(self, error: str, cause: Cause | None = None) -> PageRecord:
        """Return the record of a page without a last response; *error* says why."""
        record = self._record(None)
        record.error, record.cause = error, cause
        return record

    def _note(self, requested_at: float) -> None:
        self.requested_at = datetime.fromtimestamp(requested_at, UTC)

    def _redirected(self, status: int, location: str) -> PageRecord | None:
        with suppress(UnicodeError):  # most servers send UTF-8
            location = location.encode("latin-1").decode("utf-8")
        target = _without_fragment(join(self.url, location.strip()))
        seen = {_without_fragment(self.page.loc), self.url, *self.redirects}
        self.redirects.append(target)
        self.redirect_statuses.append(status)
        if target in seen:
            return self.not_answered(f"redirect loop: it leads back to {target}", Cause.SERVER_ERROR)
        if len(self.redirects) > _MAX_REDIRECTS:
            return self.not_answered(f"more than {_MAX_REDIRECTS} redirects", Cause.SERVER_ERROR)
        if not target.lower().startswith(("http://", "https://")):
            return self.not_answered(f"it redirects to {target}, which is no http or https URL", Cause.SERVER_ERROR)
        self.url = target
        return None

    def _record(self, response: DocumentResponse | None) -> PageRecord:
        record = PageRecord(
            site=self.site,
            run=self.run,
            source=PageSource.PROBE,
            url=self.page.loc,
            key=self.page.key,
            sitemap=self.page.sitemap,
            requested_at=self.requested_at,
            method=self.method if self.requested_at is not None else None,
            redirects=tuple(self.redirects),
            redirect_statuses=tuple(self.redirect_statuses),
        )
        if response is not None:
            record.status = response.status
            record.final_url = response.url
            record.content_type = response.header("content-type")
            record.x_robots_tag = ", ".join(response.headers.get("x-robots-tag", ())) or None
            record.canonical = header_canonical(response.headers.get("link", ()), url=response.url)
            modified = read_date(response.header("last-modified") or "")
            record.last_modified = None if modified is None else modified.value
        return record


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def may_be_html(content_type: str | None) -> bool:
    """Whether a response with that ``Content-Type`` may be an HTML page; ``None``: it has none."""
    return content_type is None or content_type.partition(";")[0].strip().lower() in _HTML


def _add_facts(record: PageRecord, response: DocumentResponse) -> None:
    """Add to *record* what the page in *response* says."""
    source = Source(
        body=response.body,
        url=response.url,
        content_type=record.content_type,
        limits=_LIMITS,
        content_encodings=response.content_encodings,
    )
    facts = html_facts(source.text(ProblemLog(response.url)), url=response.url)
    record.title, record.meta_robots = facts.title, facts.robots
    record.canonical = facts.canonical or record.canonical
    if response.status in _CHALLENGES and facts.challenger is not None:
        record.error = f"a firewall blocks the request: {facts.challenger}"
    elif response.status == 200:
        record.soft_404 = facts.not_found
