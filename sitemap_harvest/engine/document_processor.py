"""``DocumentProcessor``: turns the response or error of a document into URLs, new candidates and one record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.discovery.rules import ScopeCheck, is_declared, sites_of_robots
from sitemap_harvest.engine.document_records import (
    UNANSWERED,
    describe,
    outcome_of_status,
    record_of,
    retry_after,
    with_failure,
)
from sitemap_harvest.engine.results import MOST_REFUSED_ROWS, UrlCounts
from sitemap_harvest.engine.site_parts import SiteHead
from sitemap_harvest.errors import StoreError
from sitemap_harvest.formats import Document
from sitemap_harvest.model import FoundBy, Kind, Outcome, Problem, counted
from sitemap_harvest.snapshots.conditional_requests import is_unchanged
from sitemap_harvest.snapshots.merge_policy import is_exact

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.interfaces import DocumentResponse, KnownDocument, Transfer
    from sitemap_harvest.engine.results import Results
    from sitemap_harvest.engine.run_state import RunParts
    from sitemap_harvest.engine.site_snapshot import SiteSnapshot
    from sitemap_harvest.model import SitemapRecord, SitemapRef
    from sitemap_harvest.snapshots.conditional_requests import ConditionalRequest

_OF_THE_CANDIDATE = ("found_by", "parent", "depth", "lastmod", "lastmod_text")
_OF_THE_RESPONSE = (
    "fetched_at", "seconds", "final_url", "status", "bytes_downloaded", "via", "content_type", "etag", "last_modified",
)  # fmt: skip


class DocumentProcessor:
    """Connects response, formats, frontier, snapshots and records; the decisions are made there.

    Does not know requests: the caller passes the response or the error, and ends the
    document when the output has been read.
    """

    def __init__(self, parts: RunParts, results: Results) -> None:
        self._parts = parts
        self._config = parts.config
        self._options = parts.options
        self._sites = parts.sites
        self._results = results

    def answer(self, response: DocumentResponse, candidate: Candidate) -> Iterator[Any]:
        """Yield the URLs and the record of the document of *candidate*, and queue its children."""
        self._sites.answered(candidate, response.url)
        is_local = self._config.root is not None or candidate.url.startswith("file:")
        failure = outcome_of_status(response.status, is_local=is_local)
        record = record_of(candidate, failure, transfer=response.transfer, response=response, is_local=is_local)
        if self._results.has_enough:
            over_limit = NotFetched(Outcome.OVER_LIMIT, self._results.limit_reason("before the document was read"))
            yield from self._results.ended(with_failure(record, over_limit), is_wanted=True)
            return
        if response.challenge is None and (seconds := self._wait(response, candidate)) is not None:
            if seconds <= self._options.max_wait and self._config.replay is None:
                self._results.requeue(replace(candidate, status=response.status), response.url, seconds)
                return
            if seconds > self._options.max_wait:
                record = self._shut(response, record, seconds)
        site = self._parts.stored(candidate.root)
        if site is not None and (own := site.own_document(candidate, response.url)) is not None:
            yield from self._results.consider([(own, None)])
        has_document = record.outcome is Outcome.READ or response.status == 304
        if not_read := self._sites.redirect(candidate, response.url, has_document=has_document):
            record = with_failure(record, not_read)
        elif response.status == 304:
            yield from self._not_modified(response, candidate, record, site)
            return
        if record.outcome is Outcome.READ:
            yield from self._read(response, candidate, record, site)
        else:
            yield from self._results.not_read(candidate, record)

    def failure(
        self,
        failure: NotFetched,
        candidate: Candidate,
        transfer: Transfer | None,
        url: str,
        response: DocumentResponse | None,
    ) -> Iterator[SitemapRecord]:
        """Yield the record of the document of *candidate* that could not be downloaded.

        For the arguments see :meth:`~sitemap_harvest.engine.crawl_loop.CrawlLoop.failed`.
        """
        if failure.cause in UNANSWERED:
            self._sites.unanswered(candidate, url, failure)
        self._parts.summary.forbidden += failure.outcome is Outcome.FORBIDDEN
        if failure.outcome is Outcome.FORBIDDEN and is_declared(candidate):
            reason = (
                f"{failure.reason}, but also lists it or a document that leads to it "
                "(-s SITEMAP_HARVEST_READ_DECLARED=True allows it)"
            )
            failure = replace(failure, reason=reason)
        yield from self._results.not_read(
            candidate, record_of(candidate, failure, transfer=transfer, response=response)
        )

    def known(self, candidate: Candidate, known: KnownDocument, request: ConditionalRequest) -> Iterator[Any]:
        """Yield the URLs and the record of *candidate*, which need not be requested, for the reason in *request*.

        Without one, this run read it before it was interrupted.
        """
        if request.skip is None:
            record = known.record
            if candidate.found_by is not FoundBy.SNAPSHOT:  # several documents may name it, and another was first then
                record = replace(record, **{name: getattr(candidate, name) for name in _OF_THE_CANDIDATE})
            if record.fetched_at is not None and record.final_url is not None:
                not_read = self._sites.redirect(candidate, record.final_url, has_document=True)
                if not_read is not None:  # another job has read the document there meanwhile
                    facts = {name: getattr(record, name) for name in _OF_THE_RESPONSE}
                    yield from self._results.ended(replace(record_of(candidate, not_read), **facts))
                    return
            yield from self._pass_on(candidate, record, known)
            return
        record = record_of(candidate, NotFetched(Outcome.SKIPPED, request.skip))
        if request.is_confirmed and (site := self._parts.stored(candidate.root)) is not None:
            record = replace(record, final_url=known.record.final_url)
            record = site.confirmed(record, known, was_downloaded=False)
        yield from self._pass_on(candidate, record, known)

    def _wait(self, response: DocumentResponse, candidate: Candidate) -> float | None:
        """Return how many seconds the server requires to wait; ``None`` if *candidate* is not requested again."""
        if candidate.attempt >= self._parts.max_attempts:
            return None
        return retry_after(response.status, response.header("retry-after"), candidate.attempt)

    def _shut(self, response: DocumentResponse, record: SitemapRecord, seconds: float) -> SitemapRecord:
        """Request nothing more from the host of *response*, which requires too long a wait; return *record* with it."""
        wait = f"requires a wait of {seconds:,.0f} seconds"
        limit = f"which is longer than SITEMAP_HARVEST_MAX_WAIT ({self._options.max_wait})"
        self._sites.frontier.host(response.url).shut = NotFetched(Outcome.BLOCKED, f"the host {wait}, {limit}")
        return replace(record, reason=f"{record.reason}; the server {wait}")

    def _read(
        self, response: DocumentResponse, candidate: Candidate, record: SitemapRecord, site: SiteSnapshot | None
    ) -> Iterator[Any]:
        """Yield the URLs in the body of *response*, and the completed *record*."""
        document = Document(
            response.body,
            url=candidate.url,
            base=response.url,
            content_type=record.content_type,
            content_encodings=response.content_encodings,
            limits=self._options.limits,
            was_cut=response.was_cut,
            fast_path=self._options.fast_path,
        )
        known = None if site is None or response.was_cut or self._config.force else site.of(candidate)
        if site is not None and known is not None and is_exact(known.record):
            record = replace(record, sha256=document.digest())
            if is_unchanged(known.record, record):
                record = replace(record, outcome=Outcome.UNCHANGED, reason="the digest has not changed")
                record = site.confirmed(record, known, was_downloaded=True)
                site.keep_rules(record, document)
                yield from self._pass_on(candidate, record, known)
                return
        addresses = (candidate.url, *response.redirect_urls, response.url)
        candidate = self._sites.cross_submissions.joined(candidate, addresses)
        scope_check = ScopeCheck(candidate, document.kind, addresses)
        batches = scope_check.checked(document.steps())
        writer = None if site is None else site.document(candidate)
        if site is not None and writer is not None:
            batches = site.passing(batches, writer)
        counts = yield from self._results.urls(batches, candidate, stores=writer is not None)
        record = describe(record, document, was_cut=response.was_cut, out_of_scope=scope_check.outside)
        limit = self._limit_within(document, counts, stores=writer is not None)
        if limit is not None:
            record = replace(with_failure(record, limit), complete=False)
        references = list(document.sitemaps())
        if candidate.found_by is FoundBy.HOME or (candidate.found_by is FoundBy.ARGUMENT and not candidate.site_root):
            if links := response.headers.get("link"):
                from sitemap_harvest.formats.html.links import header_hints  # few responses have the header

                references += header_hints(links, url=response.url)
        else:  # hints are not wanted
            references = [reference for reference in references if reference.found_by is None]
        if site is not None and writer is not None:
            site.keep_rules(record, document)
            record = site.finish(writer, record, references, sound=document.last_sound_position)
        record = yield from self._follow(references, candidate, addresses, record)
        yield from self._results.ended(record, counts, is_wanted=limit is not None and limit.problem is None)
        if not record.outcome.has_rows:
            self._sites.release(candidate, response.url)

    def _not_modified(
        self, response: DocumentResponse, candidate: Candidate, record: SitemapRecord, site: SiteSnapshot | None
    ) -> Iterator[Any]:
        """Yield the stored rows of a document after a 304; or request it unconditionally."""
        known = None if site is None else site.of(candidate)
        if site is not None and response.is_conditional and known is not None and is_unchanged(known.record, record):
            record = replace(record, outcome=Outcome.UNCHANGED, reason="HTTP 304: not modified", cause=None)
            yield from self._pass_on(candidate, site.confirmed(record, known, was_downloaded=False), known)
        elif response.is_conditional and not candidate.attempt:
            self._sites.release(candidate, response.url)  # it will be redirected there again
            self._results.requeue(replace(candidate, status=response.status), response.url, 0)
        else:
            reason = "HTTP 304 in response to an unconditional request"
            yield from self._results.not_read(candidate, replace(record, reason=reason))

    def _pass_on(self, candidate: Candidate, record: SitemapRecord, known: KnownDocument) -> Iterator[Any]:
        """Yield the stored URLs of a document, and *record*; queue the documents that it names."""
        addresses = (candidate.url, record.final_url or candidate.url)
        candidate = self._sites.cross_submissions.joined(candidate, addresses)
        if self._results.needs_urls:
            try:
                counts = yield from self._results.urls(known.urls(), candidate)
            except StoreError as error:
                if self._parts.session is not None:
                    self._parts.session.give_up(error)
                failure = NotFetched(Outcome.FAILED, f"the stored URLs cannot be read: {error}")
                yield from self._results.ended(replace(with_failure(record, failure), complete=False))
                return
        else:
            references = sum(reference.found_by is None for reference in known.references)
            urls = max(0, known.record.entries - references)
            counts = UrlCounts(listed=urls, urls=urls)
            self._results.count(urls)
        record = yield from self._follow(known.references, candidate, addresses, record)
        yield from self._results.ended(record, counts)

    def _limit_within(self, document: Document, counts: UrlCounts, *, stores: bool) -> NotFetched | None:
        """Return the limit that stopped the reading within *document*; ``None`` if none did."""
        references = sum(ref.found_by is None for ref in document.sitemaps())
        in_all = max(counts.listed, document.entries - references)
        if not stores and self._results.has_enough and counts.urls + counts.dropped < in_all:
            return NotFetched(Outcome.PARTIAL, self._results.limit_reason("within the document"))
        if counts.listed < in_all:
            reason = f"SITEMAP_HARVEST_MAX_SITE_URLS ({self._options.max_site_urls:,}) was reached"
            return NotFetched(Outcome.PARTIAL, reason, problem="limit/urls")
        return None

    def _follow(
        self,
        references: Sequence[SitemapRef],
        candidate: Candidate,
        addresses: tuple[str, ...],
        record: SitemapRecord,
    ) -> Generator[Any, None, SitemapRecord]:
        """Queue the documents that the document of *record*, with the URLs *addresses*, leads to.

        Return *record*, with a problem if not all of these have a record.
        """
        part = self._parts.part
        if isinstance(part, SiteHead) and part.postpones(candidate, record, len(references)):
            return record
        is_robots = record.kind is Kind.ROBOTS
        found_by = FoundBy.ROBOTS if is_robots else FoundBy.INDEX
        authorized = sites_of_robots(addresses) if is_robots else frozenset()
        children = (
            (candidate.child(reference, reference.found_by or found_by, authorized), unwanted)
            for reference, unwanted in self._parts.children(list(references), record.kind)
        )
        count = yield from self._results.consider(children, most=MOST_REFUSED_ROWS)
        if not count:
            return record
        are, have = ("is", "has") if count == 1 else ("are", "have")
        detail = f"{counted(count, 'more listed document')} {are} not requested, and {have} no record"
        problem = Problem(code="document/without-row", document=record.url, detail=detail, count=count)
        return replace(record, problems=(*record.problems, problem))
