"""What becomes of a document that was asked for: from the answer, or the error, to URLs, new leads and a ledger row."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.spidermiddlewares.httperror import HttpError

from sitemap_harvest.crawl import outcome
from sitemap_harvest.crawl.record import answered, cut_short, describe, note_without_row, record_of, walled
from sitemap_harvest.errors import StoreError
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.html.hints import header_hints
from sitemap_harvest.model import FoundBy, Kind, Outcome
from sitemap_harvest.plan import (
    NOT_MODIFIED_WITHOUT_STATE,
    Answer,
    Approach,
    Refusal,
    Scoping,
    is_declared,
    is_exact,
    judge_answer,
    secure_twin,
    sites_of_robots,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from scrapy.http import Response

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.handout import Handout
    from sitemap_harvest.crawl.keeping import Keeper
    from sitemap_harvest.crawl.ledger import Ledger
    from sitemap_harvest.crawl.options import Options
    from sitemap_harvest.crawl.selection import Selection
    from sitemap_harvest.crawl.site_keeping import Known
    from sitemap_harvest.model import SitemapRecord, SitemapRef, UrlBatch
    from sitemap_harvest.plan import Freshness, Lead, Sites

_CONDITIONS = ("If-None-Match", "If-Modified-Since")


class _Counts(NamedTuple):
    """URLs of one document."""

    listed: int
    """Those that were read."""
    dropped: int
    """Of these, those that the filters did not let pass."""
    urls: int
    """Of these, those that were handed out."""


class Reading:
    """Asks the formats what a body says and the plan where to go, and decides nothing itself.

    Knows nothing of requests: whoever asked gives the answer, or the error, and
    is done with the document when the output has been read.
    """

    def __init__(
        self,
        plan: Plan,
        options: Options,
        *,
        sites: Sites,
        ledger: Ledger,
        handout: Handout,
        selection: Selection,
        keeper: Keeper | None,
        most_attempts: int,
    ) -> None:
        """*most_attempts* is how often a document is asked for again whose server wants to be left alone.

        *keeper* keeps what is read in a store; ``None`` if there is none.
        """
        self._keeper = keeper
        self._plan = plan
        self._options = options
        self._sites = sites
        self._ledger = ledger
        self._handout = handout
        self._selection = selection
        self._most_attempts = most_attempts

    def answer(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        """Yield the URLs and the ledger row of the document of *lead*. Its children wait their turn.

        *asked* is when it was asked for, in seconds since 1970.
        """
        try:
            yield from self._answer(response, lead, asked)
        except Exception as error:
            refusal = Refusal(Outcome.FAILED, f"reading it failed, which should not happen: {error!r}")
            yield from self._ledger.ended(record_of(lead, refusal, asked=asked))
            raise

    def failure(
        self, error: BaseException | None, lead: Lead, asked: float, *, url: str, proxy: str | None = None
    ) -> Iterator[SitemapRecord]:
        """Yield the ledger row of the document of *lead*, asked for at *asked*, that *error* has come of.

        *url* is the address that was asked for last, which a redirect may have led to. *proxy* is the address of the
        proxy that was asked; ``None`` if none was.
        """
        refusal = outcome.of_error(error, proxy=proxy)
        if refusal.cause in outcome.UNANSWERED:
            self._sites.unanswered(url, refusal)
        if refusal.outcome is Outcome.FORBIDDEN and is_declared(lead):
            reason = f"{refusal.reason}, and names it or what led to it (SITEMAP_HARVEST_READ_DECLARED)"
            refusal = replace(refusal, reason=reason)
        record = record_of(lead, refusal, asked=asked)
        if isinstance(error, HttpError):
            answered(record, error.response, is_local=False)
        yield from self._give_up(lead, record)

    def known(self, lead: Lead, known: Known, reason: str) -> Iterator[Any]:
        """Yield the URLs and the ledger row of the document of *lead*, which need not be asked for, for *reason*."""
        record = record_of(lead, Refusal(Outcome.SKIPPED, reason))
        record.final_url = known.record.final_url
        yield from self._confirm(lead, record, known, was_downloaded=False)

    def taken_over(self, lead: Lead, known: Known) -> Iterator[Any]:
        """Yield the same of a document that this run had read before it was interrupted."""
        yield from self._pass_on(lead, replace(known.record), known)

    def _answer(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        self._sites.answered(response.url)
        is_local = self._plan.root is not None or lead.url.startswith("file:")
        record = record_of(lead, outcome.of_status(response.status, is_local=is_local), asked=asked)
        answered(record, response, is_local=is_local)
        if self._handout.has_enough:
            record.outcome, record.reason = Outcome.OVER_LIMIT, self._handout.words("before it was read")
            yield from self._ledger.ended(record, is_wanted=True)
            return
        if not walled(record, response) and self._waits(response, lead, record):
            return
        if (own := self._own_document(lead, response.url)) is not None:
            yield from self._ledger.consider(own)
        if refusal := self._sites.redirect(lead, response.url):
            record.outcome, record.reason, record.cause = refusal.outcome, refusal.reason, refusal.cause
        elif response.status == 304:
            yield from self._not_modified(response, lead, record)
            return
        if record.outcome is Outcome.READ:
            yield from self._read(response, lead, record)
        else:
            yield from self._give_up(lead, record)

    def _give_up(self, lead: Lead, record: SitemapRecord) -> Iterator[SitemapRecord]:
        """Yield *record* of a document that is not read; with https it may be had where http led nowhere."""
        yield from self._ledger.ended(record)
        if twin := secure_twin(lead, record):
            yield from self._ledger.consider(twin)

    def _waits(self, response: Response, lead: Lead, record: SitemapRecord) -> bool:
        """Put *lead* back if its server wants to be left alone for a while; note it if that is too long."""
        seconds = outcome.wanted_wait(response, lead.attempt)
        if seconds is None or lead.attempt >= self._most_attempts:
            return False
        if seconds > self._options.max_wait:
            record.reason = f"{record.reason}, and wants to be left alone for {seconds:,.0f} seconds"
            limit = f"which is longer than SITEMAP_HARVEST_MAX_WAIT ({self._options.max_wait})"
            words = f"its host wants to be left alone for {seconds:,.0f} seconds, {limit}"
            self._sites.shut(response.url, Refusal(Outcome.BLOCKED, words))
            return False
        self._ledger.put_back(lead, response.url, seconds)
        return True

    def _read(self, response: Response, lead: Lead, record: SitemapRecord) -> Iterator[Any]:
        """Yield what the body of *response* lists, and *record* with what it has turned out to be."""
        was_cut = "dataloss" in response.flags
        document = Document(
            response.body,
            url=lead.url,
            base=response.url,
            content_type=record.content_type,
            content_encodings=response.meta.get("content_encodings", ()),
            limits=self._options.limits,
            was_cut=was_cut,
        )
        if not was_cut and (known := self._is_as_it_was(document, lead, record)) is not None:
            record.outcome, record.reason = Outcome.UNCHANGED, "its digest is what it was"
            yield from self._confirm(lead, record, known, was_downloaded=True)
            return
        addresses = (lead.url, *response.meta.get("redirect_urls", ()), response.url)
        lead = self._sites.proofs.joined(lead, addresses)
        scoping = Scoping.of(lead, document.kind, addresses)
        site = self._keeper.site(lead.root) if self._keeper is not None else None
        kept = site.document(lead) if site is not None else None
        batches = scoping.judged(document.urls())
        counts = yield from self._hand_out(batches if kept is None else kept.passing(batches), lead)
        describe(record, document, was_cut=was_cut)
        record.out_of_scope = scoping.outside
        is_wanted = self._note_limits(record, document, counts)
        references = self._references(document, lead, response)
        if site is not None and kept is not None:
            site.read(kept, record, references, sound=document.last_sound_position)
        yield from self._follow(references, document.kind, lead, addresses, record)
        yield from self._ledger.ended(record, urls=counts.urls, listed=counts.listed, is_wanted=is_wanted)
        if not record.outcome.has_rows:
            self._sites.release(lead, response.url)

    def _own_document(self, lead: Lead, url: str) -> Lead | None:
        """Return a lead to the document that *lead* was redirected to, if the last snapshot knows it by itself."""
        site = self._keeper.site(lead.root) if self._keeper is not None else None
        return site.own_document(lead, url) if site is not None else None

    def _not_modified(self, response: Response, lead: Lead, record: SitemapRecord) -> Iterator[Any]:
        """Yield what is known of a document of which the server says that it is unchanged; or ask for it plainly."""
        known, freshness = self._known(lead)
        sent = response.request.headers if response.request is not None else {}
        asked = Approach({name: "" for name in _CONDITIONS if name in sent})
        answer = judge_answer(known.record if known else None, freshness, asked, record) if freshness else Answer.FAILED
        if answer is Answer.UNCHANGED and known is not None:
            record.outcome, record.reason, record.cause = Outcome.UNCHANGED, "HTTP 304: the server says so", None
            yield from self._confirm(lead, record, known, was_downloaded=False)
        elif answer is Answer.AGAIN and not lead.attempt:
            self._sites.release(lead, response.url)  # it will be redirected there again
            self._ledger.put_back(lead, response.url, 0)
        else:
            record.reason = NOT_MODIFIED_WITHOUT_STATE.reason
            yield from self._give_up(lead, record)

    def _is_as_it_was(self, document: Document, lead: Lead, record: SitemapRecord) -> Known | None:
        """Return what is known of *document*, if it is byte for byte what that was made from: it need not be read."""
        known, freshness = self._known(lead)
        if known is None or freshness is None or not is_exact(known.record) or freshness.full:
            return None
        record.sha256 = document.digest()
        asked = Approach()
        return known if judge_answer(known.record, freshness, asked, record) is Answer.UNCHANGED else None

    def _known(self, lead: Lead) -> tuple[Known | None, Freshness | None]:
        """Return what the last snapshot knows of the document of *lead*, and what decides whether that holds."""
        if self._keeper is None or (site := self._keeper.site(lead.root)) is None:
            return None, None
        return site.of(lead), self._keeper.freshness()

    def _confirm(self, lead: Lead, record: SitemapRecord, known: Known, *, was_downloaded: bool) -> Iterator[Any]:
        """Yield what is known of a document that is as it was; *was_downloaded* tells that its body shows that."""
        site = self._keeper.site(lead.root) if self._keeper is not None else None
        assert site is not None  # noqa: S101 - who knows it keeps it; this tells mypy
        now = record.fetched_at or datetime.now(UTC)
        site.confirm(record, known, now=now, was_downloaded=was_downloaded)
        yield from self._pass_on(lead, record, known)

    def _pass_on(self, lead: Lead, record: SitemapRecord, known: Known) -> Iterator[Any]:
        """Yield the URLs of a document as they are kept, and *record*; what it names waits its turn."""
        addresses = (lead.url, record.final_url or lead.url)
        lead = self._sites.proofs.joined(lead, addresses)
        if self._handout.needs_rows:
            try:
                counts = yield from self._hand_out(known.urls(), lead)
            except StoreError as error:
                yield from self._unreadable(record, error)
                return
        else:
            references = sum(reference.found_by is None for reference in known.references)
            urls = max(0, record.entries - references)
            counts = _Counts(urls, 0, urls)
            self._handout.count(urls)
        assert record.kind is not None  # noqa: S101 - what has rows has a kind; this tells mypy
        yield from self._follow(known.references, record.kind, lead, addresses, record)
        yield from self._ledger.ended(record, urls=counts.urls, listed=counts.listed)

    def _unreadable(self, record: SitemapRecord, error: StoreError) -> Iterator[SitemapRecord]:
        """Give the store up, and yield *record* of a document of which *error* tells that its rows cannot be read."""
        if self._keeper is not None:
            self._keeper.give_up(error)
        record.outcome, record.complete = Outcome.FAILED, False
        record.reason = f"what is kept of it cannot be read: {error}"
        yield from self._ledger.ended(record)

    def _hand_out(self, batches: Iterable[UrlBatch], lead: Lead) -> Generator[Any, None, _Counts]:
        """Yield what stands for *batches* of the document of *lead*, up to the limits; return how many URLs."""
        listed, dropped, urls = 0, 0, 0
        left = self._sites.urls_left(lead)
        for found in batches:
            part = found if left is None else found.slice(0, left - listed)
            batch = self._handout.filtered(part)
            listed += len(part)
            dropped += len(part) - len(batch)
            urls += yield from self._handout.items(batch, lead)
            if self._handout.has_enough or len(part) < len(found):
                break
        return _Counts(listed, dropped, urls)

    def _note_limits(self, record: SitemapRecord, document: Document, counts: _Counts) -> bool:
        """Note in *record* which limit *document* was not read to its end for; return whether the user wanted that."""
        references = sum(ref.found_by is None for ref in document.sitemaps())
        in_all = max(counts.listed, document.entries - references)
        if self._handout.has_enough and counts.urls + counts.dropped < in_all:
            record.outcome, record.reason, record.complete = Outcome.PARTIAL, self._handout.words("within it"), False
            return True
        if counts.listed < in_all:
            cut_short(record, f"MAX_SITE_URLS is {self._options.max_site_urls:,}, and so many were read")
        return False

    def _references(self, document: Document, lead: Lead, response: Response) -> list[SitemapRef]:
        """Return the documents that *document* names, and those that it hints at where that is wanted."""
        references = list(document.sitemaps())
        if not _is_guide(lead):
            return [reference for reference in references if reference.found_by is None]
        links = [value.decode("latin-1") for value in response.headers.getlist("Link")]
        return [*references, *header_hints(links, url=response.url)]

    def _follow(
        self,
        references: Iterable[SitemapRef],
        kind: Kind,
        lead: Lead,
        addresses: tuple[str, ...],
        record: SitemapRecord,
    ) -> Iterator[SitemapRecord]:
        """Consider what a document of that *kind*, which lies at each of *addresses*, leads to.

        Note in *record*, its row, how many of these have no row.
        """
        is_robots = kind is Kind.ROBOTS
        found_by = FoundBy.ROBOTS if is_robots else FoundBy.INDEX
        vouched = sites_of_robots(addresses) if is_robots else frozenset()
        children = (
            (lead.child(reference, reference.found_by or found_by, vouched), unwanted)
            for reference, unwanted in self._selection.children(list(references), kind)
        )
        without_row = yield from self._ledger.follow(children)
        if without_row:
            note_without_row(record, without_row)


def _is_guide(lead: Lead) -> bool:
    """Whether what this page hints at is wanted: the user named it, or it is the home page. Others are no guides."""
    return lead.found_by is FoundBy.HOME or (lead.found_by is FoundBy.ARGUMENT and not lead.site_root)
