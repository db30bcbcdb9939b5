"""What becomes of a document that was asked for: from the answer, or the error, to URLs, new leads and a ledger row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.spidermiddlewares.httperror import HttpError

from sitemap_harvest.crawl import outcome
from sitemap_harvest.crawl.record import answered, cut_short, describe, record_of
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.html.hints import header_hints
from sitemap_harvest.model import FoundBy, Kind, Outcome
from sitemap_harvest.plan import Refusal, Scoping, is_declared, secure_twin, sites_of_robots

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from scrapy.http import Response

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.handout import Handout
    from sitemap_harvest.crawl.ledger import Ledger
    from sitemap_harvest.crawl.options import Options
    from sitemap_harvest.crawl.selection import Selection
    from sitemap_harvest.model import SitemapRecord, UrlBatch
    from sitemap_harvest.plan import Lead, Sites


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
        most_attempts: int,
    ) -> None:
        """*most_attempts* is how often a document is asked for again whose server wants to be left alone."""
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

    def failure(self, error: BaseException | None, lead: Lead, asked: float) -> Iterator[SitemapRecord]:
        """Yield the ledger row of the document of *lead*, asked for at *asked*, that *error* has come of."""
        refusal = outcome.of_error(error)
        if refusal.outcome is Outcome.FORBIDDEN and is_declared(lead):
            reason = f"{refusal.reason}, and names it or what led to it (SITEMAP_HARVEST_READ_DECLARED)"
            refusal = replace(refusal, reason=reason)
        record = record_of(lead, refusal, asked=asked)
        if isinstance(error, HttpError):
            answered(record, error.response, is_local=False)
        yield from self._give_up(lead, record)

    def _answer(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        is_local = self._plan.root is not None or lead.url.startswith("file:")
        record = record_of(lead, outcome.of_status(response.status, is_local=is_local), asked=asked)
        answered(record, response, is_local=is_local)
        if self._handout.has_enough:
            record.outcome, record.reason = Outcome.OVER_LIMIT, self._handout.words("before it was read")
            yield from self._ledger.ended(record, is_wanted=True)
            return
        if self._waits(response, lead, record):
            return
        if refusal := self._sites.redirect(lead, response.url):
            record.outcome, record.reason, record.cause = refusal.outcome, refusal.reason, refusal.cause
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
            self._sites.shut(response.url, f"its host wants to be left alone for {seconds:,.0f} seconds, {limit}")
            return False
        self._ledger.put_back(lead, response.url, seconds)
        return True

    def _read(self, response: Response, lead: Lead, record: SitemapRecord) -> Iterator[Any]:
        """Yield what the body of *response* lists, and *record* with what it has turned out to be."""
        document = Document(
            response.body,
            url=lead.url,
            base=response.url,
            content_type=record.content_type,
            content_encodings=response.meta.get("content_encodings", ()),
            limits=self._options.limits,
        )
        addresses = (lead.url, *response.meta.get("redirect_urls", ()), response.url)
        lead = self._sites.proofs.joined(lead, addresses)
        scoping = Scoping.of(lead, document.kind, addresses)
        counts = yield from self._hand_out(scoping.judged(document.urls()), lead)
        describe(record, document, was_cut="dataloss" in response.flags)
        record.out_of_scope = scoping.outside
        is_wanted = self._note_limits(record, document, counts)
        yield from self._follow(document, lead, addresses, response)
        yield from self._ledger.ended(record, urls=counts.urls, listed=counts.listed, is_wanted=is_wanted)
        if not record.outcome.has_rows:
            self._sites.release(lead, response.url)

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

    def _follow(
        self, document: Document, lead: Lead, addresses: tuple[str, ...], response: Response
    ) -> Iterator[SitemapRecord]:
        """Consider what *document*, which lies at each of *addresses*, and the headers of *response* lead to."""
        references = list(document.sitemaps())
        if _is_guide(lead):
            links = [value.decode("latin-1") for value in response.headers.getlist("Link")]
            references += header_hints(links, url=response.url)
        is_robots = document.kind is Kind.ROBOTS
        found_by = FoundBy.ROBOTS if is_robots else FoundBy.INDEX
        vouched = sites_of_robots(addresses) if is_robots else frozenset()
        for reference, unwanted in self._selection.children(references, document.kind):
            if reference.found_by is None or _is_guide(lead):
                child = lead.child(reference, reference.found_by or found_by, vouched)
                yield from self._ledger.consider(child, unwanted)


def _is_guide(lead: Lead) -> bool:
    """Whether what this page hints at is wanted: the user named it, or it is the home page. Others are no guides."""
    return lead.found_by is FoundBy.HOME or (lead.found_by is FoundBy.ARGUMENT and not lead.site_root)
