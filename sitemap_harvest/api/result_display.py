"""The summary of a ``HarvestResult``, as text and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.display import counted, first_lines, summary_as_html
from sitemap_harvest.model import Outcome
from sitemap_harvest.model.change import counts_in_words

if TYPE_CHECKING:
    from sitemap_harvest.api.result import HarvestResult


def result_as_text(result: HarvestResult) -> str:
    """Return the summary of *result*, and its failures."""
    title, lines = _summary(result)
    return "\n".join([title, *(f"  {line}" for line in first_lines(lines)), f"tables: {_sizes(result)}"])


def result_as_html(result: HarvestResult) -> str:
    """Return the same as HTML, with the first URLs."""
    urls = "" if (table := result.tables.get("urls")) is None else table._repr_html_()
    return summary_as_html(*_summary(result), urls, f"<p>tables: {_sizes(result)}</p>")


def _summary(result: HarvestResult) -> tuple[str, list[str]]:
    """Return the title of *result*, and a line for the changes and for each thing that failed."""
    if result.was_killed:
        return "HarvestResult of a run that was killed", []
    report, counts = result.summary, result.summary.counts
    limit = report.arguments.get("limit")
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.documents.items())
    complete = f"limit {limit} was reached" if limit == str(counts.urls) else "complete"
    state = complete if result.complete else f"not complete ({report.verdict})"
    urls, documents = counted(counts.urls, "URL"), counted(sum(counts.documents.values()), "document")
    title = f"HarvestResult, {state}: {urls} from {documents}"
    exists = {one.url for one in report.failed_documents if one.outcome == Outcome.NOT_A_SITEMAP}  # not absent
    lines = [f"changes: {', '.join(words)}"] if (words := counts_in_words(counts.changes)) else []
    lines += [
        f"{site.root}: {Outcome.NOT_A_SITEMAP if site.root in exists else site.result}: {site.reason}"
        for site in report.failed_sites
    ]
    named = {site.root for site in report.failed_sites}  # a document that was named is one too
    others = (one for one in report.failed_documents if one.url not in named)
    lines += [f"{document.url}: {document.outcome}: {document.reason}" for document in others]
    return f"{title} ({outcomes})" if outcomes else title, lines


def _sizes(result: HarvestResult) -> str:
    """Return the names of the tables, which are ours, and their sizes. Pipelines may have dropped items."""
    counts = None if result.was_killed else result.summary.counts
    known = {} if counts is None else {"urls": counts.urls, "sitemaps": sum(counts.documents.values())}
    sizes = {name: (len(table), known.get(name, 0)) for name, table in result.tables.items()}
    return ", ".join(
        f"{name} ({rows:,}{f' of {all_rows:,}' if rows < all_rows else ''})" for name, (rows, all_rows) in sizes.items()
    )
