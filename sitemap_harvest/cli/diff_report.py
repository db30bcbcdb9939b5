"""The report of a comparison for people: totals by section and kind, then the changes in groups, removals first.

Knows neither terminals nor files. A report with a *width* fits a terminal, and has the first
changes of each group; without one, it has all changes and all text.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from os.path import commonprefix
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.cli.tables import fitted, table_lines
from sitemap_harvest.display import percent
from sitemap_harvest.escape import visible
from sitemap_harvest.model import ChangeBatch, ChangeKind, counted
from sitemap_harvest.text_width import cell_len, head_cut, middle_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import Change, ChangeSummary

_LASTMOD, _IN_PATTERN = "lastmod", "in a pattern"
_COLUMNS = (*("removed", "expired", "added", "moved", "changed"), _LASTMOD)
_TITLES = {
    "removed": "Removed",
    "expired": "Expired",
    "added": "Added",
    "moved": "Moved",
    "changed": "Changed",
    _IN_PATTERN: "Part of a pattern",
    _LASTMOD: "Changed only in lastmod",
}
"""The groups in their order, with their titles."""
_MOST_CHANGES = 10  # of a group, with a width
_MOST_SECTIONS = 10  # with a width
_MOST_DOCUMENTS = 5  # of a sort, with a width
_COUNTED_SECTIONS = 10_000  # a site may have as many first folders as URLs
_OTHERS = "other sections"
_SECTION = r"^[A-Za-z][A-Za-z0-9+.-]*://(?P<host>[^/?#]*)(?P<path>/[^/?#]+/|)"
_SAME = 8  # characters of two long values that are shown before their first difference


def summary_lines(summary: ChangeSummary, *, width: int | None = None) -> Iterator[str]:
    """Yield the lines of *summary*."""
    yield from fitted(visible(summary.in_words()), width)
    after = f"{summary.urls_after:,} after{f' ({summary.pending:,} of them pending)' if summary.pending else ''}"
    unchanged = "without a known change" if summary.stale or summary.unread or summary.pending else "unchanged"
    yield from fitted(f"URLs: {summary.urls_before:,} before, {after}, {summary.unchanged:,} {unchanged}", width)
    if summary.stale:
        entries = "1 entry" if summary.stale == 1 else f"{summary.stale:,} entries"
        share = f"{percent(summary.stale_share, 1)}{' of those that are not pending' if summary.pending else ''}"
        yield from fitted(f"Not confirmed in this run: {entries} ({share})", width)
    elif summary.stale_sitemaps:
        yield "Not read completely in this run:"
    most = None if width is None else _MOST_DOCUMENTS
    others = (
        *(f"  {one.url}: {one.reason or one.outcome}" for one in summary.stale_sitemaps[:most]),
        *_more_documents(summary.stale_sitemaps[_MOST_DOCUMENTS:], width),
        *(f"Pattern: {one.name}, {one.count:,} URLs ({one.detail})" for one in summary.patterns),
        *(one.in_words() for one in summary.sitemaps_left[:most]),
        *_more_documents(summary.sitemaps_left[_MOST_DOCUMENTS:], width),
        *(f"Emptied sitemap: {url}" for url in summary.sitemaps_emptied[:most]),
        *_more_documents(summary.sitemaps_emptied[_MOST_DOCUMENTS:], width),
        *(f"Argument or limit changed: {one.name} was {_value(one.before)} and is now {_value(one.after)}"
          for one in summary.differences),
    )  # fmt: skip
    for line in others:
        yield from fitted(visible(line), width)


def _value(text: str | None) -> str:
    return "not set" if text is None else text


def _more_documents(others: Sequence[object], width: int | None) -> Iterator[str]:
    """Yield the number of the *others*, documents that a terminal does not get."""
    if others and width is not None:
        yield f"  and {len(others):,} more: see the view sitemaps of query"


def change_lines(changes: Changes, *, width: int | None = None, only_totals: bool = False) -> Iterator[str]:
    """Yield the totals of *changes* by section and kind and, unless *only_totals*, the changes in groups.

    A section is the first folder in the path of a URL.
    """
    if not len(changes):
        return
    sections, groups = _totals(changes)
    yield from _section_lines(sections, width)
    for group, title in _TITLES.items():
        if (count := groups[group].total()) and not only_totals:
            yield ""
            yield f"{title}: {count:,}"
            yield from _group_lines(changes, group, groups[group], width)


def pending_lines(
    summary: ChangeSummary, found: Iterable[pa.RecordBatch], *, width: int | None = None
) -> Iterator[str]:
    """Yield the URLs whose removal is pending: those of *found*, the result of :meth:`Snapshot.pending_urls`."""
    if not summary.pending:
        return
    unread = [visible(one.url) for one in summary.stale_sitemaps]
    who = " and other documents were" if len(unread) > 1 else " was" if unread else "a document was"
    yield ""
    yield f"Pending: {summary.pending:,}"
    how = "not read completely" if summary.unread else "skipped,"
    yield from fitted(f"  no longer listed, but {''.join(unread[:1])}{who} {how} and may list them:", width)
    locs = dict.fromkeys(chain.from_iterable(batch["loc"].to_pylist() for batch in found))
    for loc in islice(locs, None if width is None else _MOST_CHANGES):
        yield _cut(f"  {visible(loc)}", width)
    if width is not None and len(locs) > _MOST_CHANGES:
        yield from fitted(f"  and {len(locs) - _MOST_CHANGES:,} more: see the view pending of query", width)


def _totals(changes: Changes) -> tuple[dict[str, Counter[str]], dict[str, Counter[str | None]]]:
    """Return the number of changes by section and column, and by group and reason."""
    own_host = urlsplit(changes.summary.site).netloc.lower().removeprefix("www.")
    sections: dict[str, Counter[str]] = {}
    groups: dict[str, Counter[str | None]] = {group: Counter() for group in (*_TITLES, "")}
    for batch in changes.batches():
        columns = [_sections(batch["loc"], own_host), *_labels(batch), batch["reason"]]
        found = pa.table(columns, ["section", "column", "group", "reason"])
        for row in found.group_by(found.column_names).aggregate([([], "count_all")]).to_pylist():
            name = row["section"] if row["section"] in sections or len(sections) < _COUNTED_SECTIONS else _OTHERS
            sections.setdefault(name, Counter())[row["column"]] += row["count_all"]
            groups[row["group"]][row["reason"]] += row["count_all"]
    return sections, groups


def _sections(locs: pa.StringArray, own_host: str) -> pa.StringArray:
    """Return the section of each URL: ``/`` for those without a folder; with the host if it is not *own_host*.

    ``www.`` makes no difference.
    """
    found = pc.extract_regex(locs, _SECTION)
    host, path = (pc.fill_null(pc.struct_field(found, name), "") for name in ("host", "path"))
    host = pc.utf8_lower(host)
    host = pc.if_else(pc.equal(pc.replace_substring_regex(host, r"^www\.", ""), own_host), "", host)
    return pc.binary_join_element_wise(host, pc.if_else(pc.equal(path, ""), "/", path), "")


def _labels(batch: ChangeBatch) -> tuple[pa.StringArray, pa.StringArray]:
    """Return the column and the group of each change. The new URL of a pair that a pattern connects has no group."""
    has_only_lastmod = pc.equal(pc.binary_join(batch["fields"].cast(pa.list_(pa.string())), ","), "lastmod")
    column = pc.if_else(has_only_lastmod, _LASTMOD, batch["kind"])
    is_in_pattern = pc.and_not(batch["pattern"].is_valid(), has_only_lastmod)
    is_listed = pc.or_(pc.not_equal(batch["kind"], "added"), batch["counterpart"].is_null())
    return column, pc.if_else(is_in_pattern, pc.if_else(is_listed, _IN_PATTERN, ""), column)


def _section_lines(sections: Mapping[str, Counter[str]], width: int | None) -> Iterator[str]:
    """Yield the table of the sections, those with the most removals first."""
    ranked = sorted(sections.items(), key=lambda one: (-one[1]["removed"], -one[1].total(), one[0]))
    most = len(ranked) if width is None else _MOST_SECTIONS
    total: Counter[str] = sum(sections.values(), Counter())
    rows = [*ranked[:most]]
    if more := ranked[most:]:
        rows.append((counted(len(more), "other section"), sum((counts for _, counts in more), Counter())))
    if len(rows) > 1:
        rows.append(("total", total))
    columns = [name for name in _COLUMNS if total[name]]
    cells = [[visible(name), *(f"{counts[one]:,}" if counts[one] else "" for one in columns)] for name, counts in rows]
    yield ""
    yield from table_lines(["section", *columns], cells, width=width, right=columns, has_total=len(rows) > 1)


def _group_lines(changes: Changes, group: str, counts: Counter[str | None], width: int | None) -> Iterator[str]:
    """Yield the lines of the changes in *group*, whose number by reason is *counts*: by reason, the most common first.

    A pattern may connect changes with and without a reason.
    """
    left = counts.total() if width is None else _MOST_CHANGES
    for reason, count in sorted(counts.items(), key=lambda one: (-one[1], one[0] or "")):
        if not left:
            break
        if reason is not None or len(counts) > 1:
            yield from fitted(visible(f"  {reason or 'Without a reason'}:"), width)
        for change in islice(_changes_in(changes, group, reason), left):
            yield _cut(f"  {visible(change.loc)}", width)
            yield from _detail_lines(change, width)
        left = max(0, left - count)
    if width is not None and counts.total() > _MOST_CHANGES:
        yield from fitted(f"  and {counts.total() - _MOST_CHANGES:,} more: add -o changes.csv", width)


def _changes_in(changes: Changes, group: str, reason: str | None) -> Iterator[Change]:
    for batch in changes.batches():
        _, groups = _labels(batch)
        is_reason = batch["reason"].is_null() if reason is None else pc.equal(batch["reason"], reason)
        yield from ChangeBatch(batch.arrow.filter(pc.and_(pc.equal(groups, group), is_reason))).rows()


def _detail_lines(change: Change, width: int | None) -> Iterator[str]:
    """Yield what differs before and after *change*."""
    if change.counterpart is not None:
        words = "is now" if change.kind != ChangeKind.ADDED else "was"
        likely = f"likely {words}" if change.pattern is None else words
        yield _cut(f"    {likely} {visible(change.counterpart)}", width)
    if change.kind == ChangeKind.MOVED:
        yield from _difference("sitemap", change.sitemap_before, change.sitemap, width)
    before, after = change.before or {}, change.after or {}
    for field in change.fields:
        yield from _difference(field, before.get(field), after.get(field), width)


def _difference(name: str, before: str | None, after: str | None, width: int | None) -> Iterator[str]:
    """Yield the values of the field *name* on one line, or on two if they are long."""
    one, other = ("(none)" if value is None else visible(value) or "(empty)" for value in (before, after))
    start = f"    {name}  "
    line = f"{start}{one} → {other}"
    if width is None or cell_len(line) <= width:
        yield line
        return
    room = width - len(start) - 2
    skipped = len(commonprefix([one, other])) - _SAME  # noqa: RUF071 - by characters on purpose
    if max(cell_len(one), cell_len(other)) > room and skipped > 1:
        one, other = f"…{one[skipped:]}", f"…{other[skipped:]}"
    yield f"{start}{head_cut(one, room)}"
    yield f"{' ' * (len(start) - 2)}→ {head_cut(other, room)}"


def _cut(line: str, width: int | None) -> str:
    return line if width is None else middle_cut(line, width)
