"""Rules about the language versions of pages (``hreflang``), over all sitemaps of the site."""

from __future__ import annotations

from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity

_SPEC = "https://developers.google.com/search/docs/specialty/international/localized-versions"
_VERSIONS = "(from alternates where hreflang is not null)"


@rule("hreflang/invalid-code", Severity.ERROR, "hreflang values that are not valid, such as {value}")
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
        select sitemap, loc, position, hreflang || ': ' || flaw as value
        from alternates join codes using (hreflang)
        where flaw <> ''
    """  # noqa: S608 - our own query


@rule("hreflang/invalid-url", Severity.ERROR, "language versions without a valid URL, such as {value}")
def invalid_url() -> str:
    """The URL of a language version is missing, relative or not ``http``.

    Search engines ignore the version.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: Give the full URL of each version, with its scheme.
    """
    return f"""
        select sitemap, loc, position, hreflang || ': ' || coalesce(nullif(href, ''), 'no href') as value
        from {_VERSIONS}
        where href_key is null or not regexp_matches(href_key, '^https?://')
    """  # noqa: S608 - our own query


@rule("hreflang/missing-self", Severity.WARNING, "{urls} without a reference to themselves", has_share=True)
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
        where key is not null
        group by sitemap, position
        having not coalesce(bool_or(href_key = key), false)
    """  # noqa: S608 - our own query


@rule("hreflang/missing-return", Severity.ERROR, "versions that do not link back, such as {value}")
def missing_return() -> str:
    """A URL names a language version that does not name it in return.

    Search engines ignore references that are not confirmed by the other page, because
    anyone could claim that their page is a translation of another one.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: List the same versions for each URL of the group.
    """
    return f"""
        with pairs as (select distinct key, href_key from {_VERSIONS} where key <> href_key)
        select a.sitemap, a.loc, a.position, a.href as value
        from {_VERSIONS} a
        semi join urls on urls.key = a.href_key
        anti join pairs on pairs.key = a.href_key and pairs.href_key = a.key
        where a.key <> a.href_key
    """  # noqa: S608 - our own query


@rule("hreflang/several-urls", Severity.ERROR, "{urls} with several URLs for one language, such as {value}")
def several_urls() -> str:
    """A URL names several URLs for the same language.

    Search engines cannot know which of them is the version in that language.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: Name one URL for each ``hreflang`` value.
    """
    return f"""
        select sitemap, loc, position, lang || ': ' || first || ', ' || last as value
        from (
            select sitemap, position, lower(hreflang) as lang, any_value(loc) as loc,
                min(href_key) as first, max(href_key) as last
            from {_VERSIONS}
            group by sitemap, position, lang
        ) where first <> last
    """  # noqa: S608 - our own query


@rule("hreflang/no-x-default", Severity.NOTICE, "{urls} with {languages} languages or more, but no x-default")
def no_x_default(languages: float = 3) -> str:
    """A URL has versions in several languages, but no version for all others.

    Search engines show the ``x-default`` version to users of other languages.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions#xdefault

    Fix: Mark one version, such as the page on which users choose a language, as
    ``x-default`` too.
    """
    return f"""
        select sitemap, any_value(loc) as loc, position
        from {_VERSIONS}
        group by sitemap, position
        having count(distinct lower(hreflang)) >= {languages} and not bool_or(lower(hreflang) = 'x-default')
    """  # noqa: S608 - our own query


@rule("hreflang/target-not-listed", Severity.NOTICE, "versions that no sitemap lists, such as {value}", needs="site")
def target_not_listed() -> str:
    """A language version is not listed by any sitemap of the site.

    If the sitemaps are complete, the version may be gone, redirected or forgotten.

    Fix: List the version, or remove the reference.
    """
    return f"""
        select sitemap, loc, position, href as value
        from {_VERSIONS} a
        anti join urls on urls.key = a.href_key
        where a.href_key is not null
    """  # noqa: S608 - our own query


@rule("hreflang/conflicting-clusters", Severity.WARNING, "{urls} in groups that contradict each other", of_site=True)
def conflicting_clusters() -> str:
    """A URL belongs to two groups of language versions that contradict each other.

    The groups name different URLs for the same language, so search engines cannot know
    which versions belong together.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions

    Fix: List the same versions for each URL of a group.
    """
    return f"""
        with versions as (
            select hash(sitemap, position) as entry, sitemap, lower(hreflang) as lang, href, href_key
            from {_VERSIONS} where href_key is not null
        ), clusters as (  -- usually, all members of a group have the same versions
            select min(entry) as entry
            from (select entry, bit_xor(hash(lang, href_key)) as versions from versions group by entry)
            group by versions
        ), members as (
            select * from versions semi join clusters using (entry)
        ), conflicts as (
            select hash(a.href_key) as id, b.lang
            from members a join members b using (entry)
            where b.lang <> 'x-default'
            group by id, b.lang
            having min(hash(b.href_key)) <> max(hash(b.href_key)) and min(entry) <> max(entry)
        )
        select min(a.sitemap) as sitemap, min(a.href) as loc,
            b.lang || ': ' || min(b.href) || ', ' || max(b.href) as value
        from conflicts c
        join members a on hash(a.href_key) = c.id
        join members b on b.entry = a.entry and b.lang = c.lang
        group by a.href_key, b.lang
    """  # noqa: S608 - our own query
