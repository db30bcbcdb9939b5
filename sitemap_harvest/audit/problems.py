"""The problems of documents as findings, without those that repeat another finding about the same document."""

from __future__ import annotations

from sitemap_harvest.audit.rule import Unchecked, shortened
from sitemap_harvest.model import CATALOGUE, READ_SEPARATELY
from sitemap_harvest.snapshots.merge import NOT_ASKED_FOR

_MAX_EXCERPT_CHARS = 80


def _has_any(codes: tuple[str, ...]) -> str:
    return f"list_has_any(codes, [{', '.join(map(repr, codes))}])"


_LOSSES = (*[code for code, one in CATALOGUE.items() if one.loses], "feed/no-link")
_ILL_FORMED = (
    "document/nul-bytes", "encoding/bad-bytes", "encoding/cut-character", "encoding/unknown", "xml/bad-attributes",
    "xml/bad-declaration", "xml/bare-ampersand", "xml/bare-less-than", "xml/control-character", "xml/entry-outside",
    "xml/junk-after", "xml/junk-before", "xml/malformed", "xml/truncated", "xml/unclosed-entry",
    "xml/undeclared-prefix", "xml/unknown-entity", "xml/unlike-tags",
)  # fmt: skip
"""Problems that make XML ill-formed."""
_TRUNCATED = ("html/truncated", "json/truncated", "text/truncated", "xml/truncated")
NAMED = "(parent is not null or (found_by = 'argument' and not ends_with(url, '/robots.txt')))"
"""The condition that something names the document of a row of ``sitemaps``, rather than that it was only tried."""
_NO_SITEMAP = (
    ("sitemap/not-a-sitemap", "site/robots-unreadable"),
    f"outcome = 'not-a-sitemap' and ({NAMED} or ends_with(url, '/robots.txt'))",
)
_CAUSES: dict[str, tuple[tuple[str, ...], str]] = {
    "xml/not-well-formed": (_ILL_FORMED, _has_any(_ILL_FORMED)),
    "xml/bad-declaration": (("xml/junk-before",), _has_any(("xml/junk-before",))),  # so it is not at the start
    "document/no-entries": (
        ("sitemap/empty", *_LOSSES),
        f"{_has_any(_LOSSES)} or (complete and kind in ('sitemap', 'index'))",
    ),
    "document/challenge": (("sitemap/not-a-sitemap",), f"outcome = 'blocked' and {NAMED}"),
    "encoding/cut-character": (
        ("unpack/truncated", *_TRUNCATED),
        _has_any(("unpack/truncated", *_TRUNCATED)),
    ),
    **dict.fromkeys(("document/not-a-sitemap", "document/soft-404", "document/binary", "document/empty"), _NO_SITEMAP),
    **dict.fromkeys(_TRUNCATED, (("unpack/truncated",), _has_any(("unpack/truncated",)))),
}
"""The findings about the same document that explain a problem, and the condition that there is one, by code."""
_READ_ROBOTS = "from sitemaps where ends_with(url, '/robots.txt') and outcome in ('read', 'unchanged', 'absent')"
_IS_REDIRECT = f"coalesce(ends_with(reason, '{READ_SEPARATELY}'), false)"
_IS_UNLISTED = f"""
    (coalesce(reason, '') = '{NOT_ASKED_FOR}' and parent is not null and key not in (select key from children))
"""  # noqa: S608 - nothing led to it, so the run has not left it out
UNREAD_DOCUMENTS = f"""
    with unread as (
        select url, parent, kind, outcome, found_by, case outcome
                when 'skipped' then not ({_IS_REDIRECT} or {_IS_UNLISTED})
                else outcome in ('out-of-scope', 'over-limit', 'interrupted') end as is_left_out
        from sitemaps
        where (outcome in ('partial', 'failed', 'blocked', 'over-limit', 'interrupted', 'too-large')
                or (outcome = 'read' and not complete)  -- the reading is not accepted yet
                or (outcome = 'skipped' and not complete and not (entries = 0 and {_IS_REDIRECT})
                    and not (found_by in ('variant', 'well-known', 'home') and rows_from is null))  -- only tried before
                or (outcome = 'out-of-scope' and found_by in ('robots', 'index'))
                or (outcome in ('absent', 'forbidden', 'not-a-sitemap') and ({NAMED} or rows_from is not null)))
            and not (parent is null and ends_with(url, '/robots.txt') and outcome not in ('read', 'absent')
                and exists ({_READ_ROBOTS}))
    ), unwanted as (  -- without a record, because the document that names them has one
        select min(loc) as url, min(c.sitemap) as parent, null as kind, 'skipped' as outcome,
            coalesce(min(c.found_by), if(min(s.kind) = 'robots', 'robots', 'index')) as found_by, true as is_left_out
        from children c join sitemaps s on s.url = c.sitemap
        where c.key not in (select key from sitemaps union all select document_key(url) from gone_sitemaps)
        group by c.key
    )
    from unread union all from unwanted
"""  # noqa: S608 - our own conditions
"""The documents that may list what seems to be missing, because they were not read completely.

``is_left_out``: because of the arguments and limits of the run, rather than because of the site.
"""
MAY_BE_LISTED = "a document that was not read completely may list what seems to be missing"
LEFT_OUT_MAY_LIST = "a document that the run did not request may list what seems to be missing"
UNCHECKED_IF_UNREAD = Unchecked(
    f"""
    select if(bool_or(is_left_out), '{LEFT_OUT_MAY_LIST}', '{MAY_BE_LISTED}') from unread_documents having count(*) > 0
    """,  # noqa: S608 - our own texts
    "a document that was not read completely, or that the run did not request, may list what seems to be missing",
)
LEAVES_OUT = "exists (from unread_documents where is_left_out)"
"""The condition that the run left out documents: so what they list seems to be missing, though nothing is wrong."""
UNCHECKED_IF_LEFT_OUT = Unchecked(f"select '{LEFT_OUT_MAY_LIST}' where {LEAVES_OUT}", LEFT_OUT_MAY_LIST)
_UNREAD_NAMES = "robots.txt or an index was not read completely"
UNREAD_NAMES = f"""
    select '{_UNREAD_NAMES}' from unread_documents
    where kind = 'index' or (parent is null and ends_with(url, '/robots.txt'))
        or (kind is null and found_by = 'robots' and outcome not in ('absent', 'not-a-sitemap'))  -- perhaps an index
    limit 1
"""  # noqa: S608 - our own text
UNCHECKED_IF_UNREAD_NAMES = Unchecked(UNREAD_NAMES, _UNREAD_NAMES)
PROBLEMS = f"""
    with documents as (
        select url, number, kind, outcome, parent, found_by, complete, problems,
            list_transform(problems, lambda problem: problem.code) as codes
        from sitemaps
        where len(problems) > 0
            and not (found_by in ('variant', 'well-known', 'home')  -- only tried, and no sitemap
                and coalesce(kind, '') not in ('sitemap', 'index', 'list', 'feed', 'robots', 'links'))
    ), problems as (
        select *, problem.* from (select *, unnest(problems) as problem from documents)
    ), listed as (  -- the URLs of the samples, by document and position
        select document, map_from_entries(list((position, loc))) as locs from (
            select document, position, min(loc) as loc from all_urls
            where (document, position) in (
                select number, sample.entry from (select number, unnest(samples) as sample from problems)
            ) group by all
        ) group by document
    )
    select url, code, count, detail, list_transform(samples, lambda s: {{'loc': locs[coalesce(s.entry, -1)],
        'sitemap': url, 'position': s.entry, 'line': s.line, 'value': s.excerpt}}) as samples
    from problems left join listed on listed.document = number
    where not case code
        {" ".join(f"when '{code}' then {condition}" for code, (_, condition) in _CAUSES.items())}
        else false end
    order by code, count desc, url
"""  # noqa: S608 - our own conditions


def causes_of(code: str) -> tuple[str, ...]:
    """Return the rules and codes whose findings explain a problem with that *code*, which is then left out."""
    return _CAUSES[code][0] if code in _CAUSES else ()


def places(code: str) -> str:
    """Return the query of the samples of all problems with that *code*, as rows: one for a problem without samples."""
    return f"""
        select url as sitemap, sample.loc as loc, sample.position as position, sample.line as line,
            sample.value as value
        from (
            select url, unnest(if(len(samples) > 0, samples, [null])) as sample from ({PROBLEMS}) where code = '{code}'
        )
    """  # noqa: S608 - our own conditions


def problem_in_words(code: str, detail: str, count: int, value: str | None) -> str:
    """Return the message of a finding about a problem with that *detail*, which occurs first at *value*."""
    text = detail.removesuffix(".")
    if code == "xml/not-well-formed":
        text = f"The XML is not well-formed: {text}"  # the detail is the message of the parser
    excerpt = " ".join((value or "").split())
    if excerpt and excerpt not in text:
        text += f": {shortened(excerpt, _MAX_EXCERPT_CHARS)}"
    return text if count == 1 else f"{text} ({count:,} times)"
