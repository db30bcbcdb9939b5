"""Rules about the language versions of pages (``hreflang``), over all sitemaps of the site."""

from __future__ import annotations

from sitemap_harvest.audit.problems import LEAVES_OUT, UNCHECKED_IF_LEFT_OUT, UNCHECKED_IF_UNREAD
from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_SPEC = "https://developers.google.com/search/docs/specialty/international/localized-versions"
_HAS_URL = "regexp_matches(href_key, '^https?://')"
_VERSIONS = "(from alternates where hreflang is not null)"


@rule(
    "hreflang/invalid-code",
    Severity.ERROR,
    "{count:invalid hreflang value}, such as {value}",
    screaming_frog="Incorrect Language & Region Codes",
    sitebulb="Has invalid outgoing hreflang annotations",
)
def invalid_code() -> str:
    """An ``hreflang`` value is not a language code, or its country or script is not one.

    A value is a language of ISO 639-1, optionally followed by a script of ISO 15924 and
    a country of ISO 3166-1, or ``x-default``. Search engines ignore other values:
    ``en_US`` (underscore), ``en-UK`` (the code is ``GB``), ``jp`` (the language is
    ``ja``).

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: Use the code of the language first, then that of the country.
    """
    return f"""
        with codes as (
            select hreflang, hreflang_flaw(hreflang) as flaw
            from (select distinct hreflang from {_VERSIONS})
        )
        select sitemap, loc, position, hreflang || ' (' || flaw || ')' as value
        from alternates join codes using (hreflang)
        where flaw <> ''
    """  # noqa: S608 - our own query


@rule("hreflang/invalid-url", Severity.ERROR, "{count:hreflang reference} without a valid URL, such as {value}")
def invalid_url() -> str:
    """The URL of a language version is missing, relative or not ``http``.

    Search engines ignore the version.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: Give the full URL of each version, with its scheme.
    """
    return f"""
        select sitemap, loc, position, hreflang || ': ' || coalesce(nullif(href, ''), 'no href') as value
        from {_VERSIONS}
        where href_key is null or not {_HAS_URL}
    """  # noqa: S608 - our own query


@rule(
    "hreflang/missing-self",
    Severity.WARNING,
    "{urls} without a self-reference",
    has_share=True,
    screaming_frog="Missing Self Reference",
)
def missing_self() -> str:
    """A URL with language versions does not name itself as one of them.

    Each version has to list all versions including itself; otherwise search engines may
    ignore the group.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: Add an ``xhtml:link`` for the URL itself, with its own language.
    """
    return f"""
        select sitemap, any_value(loc) as loc, position
        from {_VERSIONS}
        where entry in (
            select entry from {_VERSIONS} where key is not null
            group by entry having not coalesce(bool_or(href_hash = key_hash), false)
        )
        group by sitemap, position
    """  # noqa: S608 - our own query


@rule(
    "hreflang/missing-return",
    Severity.ERROR,
    "{count:hreflang reference} without a return link, such as {value}",
    unchecked=UNCHECKED_IF_LEFT_OUT.where("exists (from alternates)"),
    screaming_frog="Missing Return Links",
    sitebulb="Missing reciprocal hreflang (no return-tag)",
)
def missing_return() -> str:
    """A URL names a language version that does not name it in return.

    Search engines ignore references that are not confirmed by the other page, because
    anyone could claim that their page is a translation of another one.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: List the same versions for each URL of the group.
    """
    return f"""
        with one_way as (  -- pairs of which only one direction is named, as far as the URL that it names is listed
            select min(key_hash) as key_hash, min(href_hash) as href_hash from {_VERSIONS}
            where key_hash <> href_hash
            group by least(key_hash, href_hash), greatest(key_hash, href_hash)
            having min(key_hash) = max(key_hash)
        )
        select sitemap, loc, position, href || ', which does not name ' || loc as value
        from {_VERSIONS}
        semi join one_way using (key_hash, href_hash)
        where href_hash in (  -- a document that the run left out may give versions of a URL that has none here
            select key_hash from urls where not {LEAVES_OUT}
            union all
            select key_hash from {_VERSIONS} where {LEAVES_OUT}
        )
    """  # noqa: S608 - our own query


@rule(
    "hreflang/several-urls",
    Severity.ERROR,
    "{urls} with several URLs for one language, such as {value}",
    screaming_frog="Multiple Entries",
    sitebulb="Has outgoing hreflang annotation to multiple URLs",
)
def several_urls() -> str:
    """A URL names several URLs for the same language.

    Search engines cannot know which of them is the version in that language.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: Name one URL for each ``hreflang`` value.
    """
    return f"""
        select sitemap, loc, position, lang || ': ' || first || ', ' || last as value
        from (
            select sitemap, position, lang, any_value(loc) as loc, min(href_key) as first, max(href_key) as last
            from {_VERSIONS}
            where hash(entry, lang) in (
                select hash(entry, lang) as id from {_VERSIONS} group by id having min(href_hash) <> max(href_hash)
            )
            group by sitemap, position, lang
        ) where first <> last
    """  # noqa: S608 - our own query


@rule(
    "hreflang/no-x-default",
    Severity.NOTICE,
    "{urls} in {languages:g} or more languages, but without x-default",
    screaming_frog="Missing X-Default",
)
def no_x_default(languages: float = 3) -> str:
    """A URL has versions in several languages, but no version for all others.

    Search engines show the ``x-default`` version to users of other languages. Versions
    without a valid URL or with an invalid ``hreflang`` value do not count.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions#xdefault

    Fix: Mark one version, such as the page on which users choose a language, as
    ``x-default`` too.
    """
    return f"""
        select sitemap, any_value(loc) as loc, position
        from {_VERSIONS}
        where entry in (
            select entry from {_VERSIONS}
            group by entry having count(*) >= {languages} and not bool_or(lang = 'x-default')
        ) and {_HAS_URL} and hreflang in (
            select hreflang from (select distinct hreflang from {_VERSIONS}) where hreflang_flaw(hreflang) = ''
        )
        group by sitemap, position
        having count(distinct lang) >= {languages}
    """  # noqa: S608 - our own query


@rule(
    "hreflang/target-not-listed",
    Severity.NOTICE,
    "{count:language version} in no sitemap, such as {value}",
    needs="site",
    unchecked=UNCHECKED_IF_UNREAD.where("exists (from alternates)"),
)
def target_not_listed() -> str:
    """A language version is not listed by any sitemap of the site.

    If the sitemaps are complete, the version may be gone, redirected or forgotten. Only
    versions on the hosts of listed URLs count: other hosts have sitemaps of their own. A
    version counts once for each sitemap, however many entries name it.

    Fix: List the version, or remove the reference.
    """
    return f"""
        with hosts as (
            select distinct regexp_replace(host_of(site), '^www\\.', '') as host
            from (select distinct site from urls)
        ), missing as materialized (  -- usually few
            from {_VERSIONS} a anti join urls on urls.key_hash = a.href_hash where a.href_hash is not null
                and a.href_hash not in (from pending)
        )
        select sitemap, arg_min(loc, position) as loc, min(position) as position, arg_min(href, position) as value
        from missing where regexp_replace(host_of(href_key), '^www\\.', '') in (from hosts) and not {LEAVES_OUT}
        group by sitemap, href_hash
    """  # noqa: S608 - our own query


@rule(
    "hreflang/conflicting-clusters",
    Severity.WARNING,
    "{urls} in language groups that contradict each other, such as {value}",
    of_site=True,
)
def conflicting_clusters() -> str:
    """A URL belongs to two groups of language versions that contradict each other.

    The groups name different URLs for the same language, so search engines cannot know
    which versions belong together.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: List the same versions for each URL of a group.
    """
    return f"""
        with versions as (
            select entry, lang, href_hash from {_VERSIONS} where href_hash is not null
        ), clusters as (  -- usually, all members of a group have the same versions
            select min(entry) as entry
            from (select entry, sum(hash(lang, href_hash)) as versions from versions group by entry)
            group by versions
        ), members as (
            select * from versions semi join clusters using (entry)
        ), shared as (
            select href_hash from members group by href_hash having min(entry) <> max(entry)
        ), conflicts as (
            select a.href_hash, b.lang, min(b.href_hash) as one, max(b.href_hash) as other, min(entry) as first
            from members a join members b using (entry)
            where a.href_hash in (from shared) and b.lang <> 'x-default'
            group by a.href_hash, b.lang
            having min(b.href_hash) <> max(b.href_hash) and min(entry) <> max(entry)
        ), found as materialized (
            select href_hash, min(lang) as lang, unnest(arg_min({{'one': one, 'other': other, 'first': first}}, lang))
            from conflicts group by href_hash
        ), hrefs as materialized (
            select href_hash, min(href) as href from {_VERSIONS}
            where href_hash in (select unnest([href_hash, one, other]) from found) group by href_hash
        )
        select url as sitemap, named.href as loc,
            lang || ': ' || least(a.href, b.href) || ', ' || greatest(a.href, b.href) as value
        from found
        join hrefs named on named.href_hash = found.href_hash
        join hrefs a on a.href_hash = one
        join hrefs b on b.href_hash = other
        join sitemaps on number = first >> 32
    """  # noqa: S608 - our own query
