"""Rules about the listed URLs themselves."""

from __future__ import annotations

from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity


@rule("url/duplicate-in-sitemap", Severity.WARNING, "{urls} listed again in the same sitemap", has_share=True)
def duplicate_in_sitemap() -> str:
    """A sitemap lists the same URL several times.

    URLs are compared in canonical form, so ``HTTPS://a.example`` and
    ``https://a.example/`` are the same. Readers request the URL once, but cannot know
    which of several ``lastmod`` values applies, and the repeated entries count towards
    the limit of 50,000.

    Fix: List each URL once. Let the generator collect URLs in a set.
    """
    return """
        select sitemap, loc, position, 'first at position ' || first_position as value
        from (
            select *, min(position) over (partition by sitemap, key) as first_position
            from urls where key is not null
        ) where position > first_position
    """


@rule("url/fragment", Severity.WARNING, "{urls} with a fragment", has_share=True)
def fragment() -> str:
    """A listed URL contains a fragment (``#``).

    Browsers do not send the fragment to the server, so search engines ignore it: the
    entry lists the page without it, perhaps a second time.

    Spec: https://datatracker.ietf.org/doc/html/rfc3986#section-3.5

    Fix: List the URL without the fragment.
    """
    return "select sitemap, loc, position from urls where contains(loc, '#') and not contains(loc, '#!')"
