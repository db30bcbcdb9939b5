"""Rules about the listed URLs themselves."""

from __future__ import annotations

from sitemap_harvest.audit.rule import Unchecked, rule
from sitemap_harvest.model import Severity

_TRACKING = (
    "utm_[a-z_]+|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|yclid|ymclid|twclid|ttclid|igshid|li_fat_id|"
    "mc_cid|mc_eid|mkt_tok|_ga|_gl|_hsenc|_hsmi|__hssc|__hstc|__hsfp|vero_id|oly_anon_id|oly_enc_id|srsltid|epik|"
    "pk_campaign|pk_kwd|mtm_campaign|mtm_source|mtm_medium"
)


@rule(
    "url/tracking-parameters",
    Severity.WARNING,
    "{urls} with tracking parameters, such as {value}",
    has_share=True,
    screaming_frog="GA Tracking Parameters",
)
def tracking_parameters() -> str:
    """A listed URL has a parameter that only serves to measure campaigns, such as ``utm_source`` or ``gclid``.

    It is not the canonical URL of the page: search engines index it as a duplicate or
    ignore it, and visits from search are attributed to the campaign. Feeds do not count,
    since parameters that count their readers are intended.

    Fix: List the URL without the parameter.
    """
    pattern = rf"^[^?#]*\?(?:[^#]*[&;])?((?i:{_TRACKING}))="
    return f"""
        select sitemap, loc, position, regexp_extract(loc, '{pattern}', 1) as value
        from sitemap_urls where contains(loc, '?') and regexp_matches(loc, '{pattern}')
    """  # noqa: S608 - a pattern of this module


@rule("url/session-id", Severity.ERROR, "{urls} with a session ID: {most:name}", has_share=True)
def session_id() -> str:
    """A listed URL contains a session ID.

    The generator crawled the site as a visitor without cookies. Each of its runs lists
    other URLs for the same pages, so search engines crawl duplicates without end, and
    visitors who follow such a URL share a session. Names that also have other uses, such
    as ``sid``, count only with a long random value.

    Spec: https://developers.google.com/search/docs/crawling-indexing/url-structure

    Fix: Keep session IDs in cookies only, and list the URL without them.
    """
    sure = r"[?&;]((?i:jsessionid|phpsessid|aspsessionid[a-z]*|oscsid|zenid|xtcsid|cftoken|sessid))=[^&;#?]"
    likely = r"[?&;]((?i:sid|session_?id))=([a-zA-Z]*[0-9][0-9a-zA-Z]*)(?:[&;#]|$)"
    hashed = r"[?&;](s)=[0-9a-f]{32}(?:[&;#]|$)"
    in_path = r"^[^?#]*/\((?:A\([^()/]*\))?(S)\([0-9a-z]{24}\)"
    return f"""
        select sitemap, loc, position, case
            when regexp_matches(loc, '{sure}') then regexp_extract(loc, '{sure}', 1)
            when regexp_matches(loc, '{hashed}') then 's'
            when regexp_matches(loc, '{likely}') and length(regexp_extract(loc, '{likely}', 2)) between 26 and 128
                then regexp_extract(loc, '{likely}', 1)
            when regexp_matches(loc, '{in_path}') then 'S' end as value
        from sitemap_urls
        where (contains(loc, '=') or contains(loc, '(S(') or contains(loc, ')S(')) and value is not null
    """  # noqa: S608 - patterns of this module


@rule("url/fragment", Severity.WARNING, "{urls} with a fragment", has_share=True)
def fragment() -> str:
    """A listed URL contains a fragment (``#``).

    Browsers do not send the fragment to the server, so search engines ignore it: the
    entry lists the page without it, perhaps a second time. ``#!`` is a notice: Google
    crawled such URLs in another form until 2018. In feeds, entries may be parts of a
    page.

    Spec: https://datatracker.ietf.org/doc/html/rfc3986#section-3.5

    Fix: List the URL without the fragment. Give views of an application that have only a
    fragment paths of their own.
    """
    return """
        select sitemap, loc, position, if(contains(loc, '#!'), 'notice', null) as severity
        from sitemap_urls where contains(loc, '#')
    """


@rule(
    "url/unescaped",
    Severity.NOTICE,
    "{urls} with characters that are not percent-encoded",
    has_share=True,
    screaming_frog="Non ASCII Characters",
)
def unescaped() -> str:
    r"""A listed URL contains a character that URLs may contain only in percent-encoded form.

    That is any character outside ASCII, a space, a control character, a backtick, one of
    ``" < > \ ^ { | }``, or a ``%`` that does not begin an escape. Most readers encode it,
    but not all in the same way, and comparisons with the URLs of logs and other tools
    fail. A host outside ASCII should be written in punycode.

    Spec: https://www.sitemaps.org/protocol.html#escaping

    Fix: Encode the path and query as UTF-8 with percent-encoding.
    """
    pattern = r"[^!#-;=?-\[\]_a-z~]|%[0-9A-Fa-f]?(?:$|[^0-9A-Fa-f])"
    return f"""
        select sitemap, loc, position, regexp_extract(loc, '{pattern}') as value
        from sitemap_urls where regexp_matches(loc, '{pattern}')
    """  # noqa: S608 - a pattern of this module


@rule("url/double-encoded", Severity.WARNING, "{urls} percent-encoded twice", has_share=True)
def double_encoded() -> str:
    """A listed URL was percent-encoded twice, such as ``%2520`` for a space.

    It is another URL than the intended one, and usually does not exist. A query with a
    URL in it may be encoded twice, and does not count.

    Fix: Encode URLs once, when they are built, and not again when the sitemap is written.
    """
    return r"""
        select * from (
            select sitemap, loc, position,
                regexp_extract(loc, '%25(?:[2-7][0-9A-Fa-f]|[C-Fc-f][0-9A-Fa-f]%25[89ABab][0-9A-Fa-f])') as value
            from sitemap_urls where contains(loc, '%25')
        ) where value <> '' and (
            contains(split_part(loc, '?', 1), value) or not regexp_matches(loc, '(?i)[?].*%(?:25)*(?:2F|3A|3F|3D)')
        )
    """


@rule(
    "url/double-slash",
    Severity.NOTICE,
    "{urls} with a double slash in the path",
    has_share=True,
    screaming_frog="Multiple Slashes",
)
def double_slash() -> str:
    """The path of a listed URL contains ``//``.

    Usually a part of the path is empty, or a base with a slash at its end was joined to
    a path with one at its start. Many servers respond with the same page as for a single
    slash, so it has two URLs. A URL within the path does not count.

    Fix: Join the parts of URLs with exactly one slash.
    """
    return r"""
        select sitemap, loc, position from sitemap_urls
        where regexp_matches(loc, '^[^:/?#]+://[^/?#]+(?:/[^?#]*[^:?#])?//')
    """


_UNPUBLIC = r"""
    case when regexp_matches(host, '^(?:.*\.)?localhost\.?$') then 'localhost'
        when regexp_matches(host, '^(?:0|10|127|169\.254|172\.(?:1[6-9]|2[0-9]|3[01])|192\.168|'
            || '100\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7]))\.[0-9.]+$')
            or regexp_matches(host, '^\[(?:::1?|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$') then 'private address'
        when regexp_matches(host, '^(?:.*\.)?example\.(?:com|net|org)\.?$') then 'example domain'
        when regexp_matches(host, '\.(?:test|example|invalid|local|internal|intranet|lan|corp|home|home\.arpa)\.?$')
            then '.' || regexp_extract(host, '([^.]+)\.?$', 1)
        when host <> '' and not regexp_matches(host, '[.\[]') then 'no dot in the host' end
"""


@rule("url/not-public-host", Severity.ERROR, "{urls} on a host that is not public: {most:host}", has_share=True)
def not_public_host() -> str:
    """A listed URL is on a host that cannot be reached from the internet.

    That is ``localhost``, an address in a private range, a host without a dot, an
    example domain (``example.com``), or a name that is reserved for local networks or
    tests (``.local``, ``.test``, ``.internal``, ``.example`` ...). The generator ran with
    the configuration of a developer or of the template. Names of the same kind as that of
    the site itself do not count, so that the sitemaps of an intranet can be audited.

    Spec: https://datatracker.ietf.org/doc/html/rfc6761

    Fix: Set the base URL of the generator to that of the public site.
    """
    return f"""
        with hosts as (select site, host_of(site) as host from (select distinct site from urls)),
        own as (select distinct {_UNPUBLIC} as kind from (select host_of(root) as host from sitemaps)),
        found as (
            select site, host from (select site, host, {_UNPUBLIC} as kind from hosts)
            where kind is not null and kind not in (select kind from own where kind is not null)
        )
        select sitemap, loc, position, found.host as value from urls join found using (site)
    """  # noqa: S608 - expressions of this module


@rule("url/staging-host", Severity.WARNING, "{urls} on a test host: {most:host}", has_share=True)
def staging_host() -> str:
    """A listed URL is on a host for development or tests, such as ``staging.`` or ``dev.``.

    Search engines may index unfinished pages, as duplicates of the public ones. The host
    of the site itself and that of the sitemap do not count.

    Fix: Set the base URL of the generator to that of the public site, and protect the test
    host with a password.
    """
    names = "stage|stg|dev|devel|development|test|testing|uat|qa"
    pattern = (
        rf"^(?:[^.]+\.)*?(?:(?:(?:www|web|shop|app|api)-)?(?:{names})[0-9]*"
        r"|(?:[^.]+-)?(?:staging|preprod|pre-prod|preproduction)(?:[0-9]*|-[^.]*))\.((?:[^.]+\.)+[^.]+)$"
    )
    return rf"""
        with hosts as (
            select site, host from (select distinct site, host_of(site) as host from sitemap_urls)
            where not regexp_matches(host, '^[0-9.]+$') and not regexp_matches(
                regexp_extract(host, '{pattern}', 1), '^(?:|(?:co|com|org|net|gov|edu|ac|or|ne|go)\.[a-z][a-z])$')
                and host not in (select host_of(root) from sitemaps)
        )
        select sitemap, loc, position, host as value from sitemap_urls join hosts using (site)
        where host <> host_of(sitemap)
    """  # noqa: S608 - a pattern of this module


@rule(
    "url/out-of-scope",
    Severity.WARNING,
    "{urls} that the sitemap may not list ({share}): another {most:reason}",
    has_share=True,
    google="URL not allowed",
)
def out_of_scope() -> str:
    """A sitemap lists URLs that the protocol does not allow it to list.

    A sitemap may list the URLs below its own folder, with the same scheme, host and
    port, and those of the sites whose robots.txt names it. Search engines ignore others,
    unless the owner has verified both sites. Each robots.txt that the run has read counts,
    whether before or after the sitemap. The value says what differs first.

    Spec: https://www.sitemaps.org/protocol.html#location

    Fix: Move the sitemap to the root folder of the site whose URLs it lists, or name it in
    the robots.txt of that site.
    """
    return """
        with recursive outside as (select * from sitemap_urls where not in_scope),
        allowed as (
            select site, key from authorized where site in (select site from outside)
            union
            select allowed.site, c.key from allowed join sitemaps s on s.key = allowed.key
            join children c on c.sitemap = s.url where s.kind = 'index' and c.found_by is null
        ), addresses as (
            select url as sitemap, key from sitemaps
            union all
            select url, document_key(final_url) from sitemaps where final_url <> url
        ), listings as (select distinct site, sitemap from allowed join addresses using (key))
        select sitemap, loc, position,
            if(scope_reason = 'host', 'host, ' || host_of(site), scope_reason) as value
        from outside anti join listings using (site, sitemap)
    """


_UNKNOWN = Unchecked(
    """
    with missing as (
        select site, count(*) as urls, any_value(url) as url, any_value(reason) as reason
        from sitemap_urls left join robots using (site) where site is not null and text is null group by site
    )
    select format('{} is unknown ({})', url, reason) from missing where url is not null
    union all
    select format('the robots.txt of {} is not part of the audit unless that site is a target too (URLs: {:,})',
        if(count(*) = 1, max(site), count(*) || ' hosts (such as ' || arg_max(site, (urls, site)) || ')'),
        sum(urls)::bigint)
    from missing where url is null having count(*) > 0
    """,
    "the robots.txt of the host of a listed URL is unknown, or not part of the audit",
)


@rule(
    "url/robots-disallowed",
    Severity.ERROR,
    "{urls} that robots.txt disallows, such as by {value}",
    has_share=True,
    unchecked=_UNKNOWN,
    google="Blocked by robots.txt",
    bing="Blocked by robots.txt",
    screaming_frog="Blocked by Robots.txt",
    sitebulb="Disallowed URL in XML Sitemaps",
)
def robots_disallowed() -> str:
    """The robots.txt of its host disallows fetching a listed URL.

    The sitemap asks search engines to index the page, and robots.txt forbids them to read
    it. Checked for Googlebot, Bingbot and any crawler that robots.txt does not name
    (``*``); the value has the rule, its line, and the crawlers. If only crawlers that are
    not named may not fetch the URL, it is a notice. URLs on hosts whose robots.txt is
    unknown are not checked.

    Spec: https://www.rfc-editor.org/rfc/rfc9309#section-2.2

    Fix: Allow the URL in robots.txt, or do not list it.
    """
    return "from disallowed_urls"


@rule("url/not-a-page", Severity.NOTICE, "{urls} to a file instead of a page: .{most:type}", has_share=True)
def not_a_page() -> str:
    """A listed URL is that of a style sheet, a script, a font or an archive.

    Search engines do not show these in results, and requests for them take the place of
    requests for pages. Names such as ``/tags/vue.js`` do not count.

    Fix: List only pages and documents that people read.
    """
    folders = (
        "js|javascripts?|scripts?|css|styles?|assets?|static|dist|build|libs?|vendor|_next|_nuxt|_astro|media|public|"
        "themes?|plugins?|node_modules|wp-content|wp-includes"
    )
    asset = rf"(?i)^[a-z]+://[^/?#]+(?:/(?:[^?#]*/)?(?:{folders})/[^?#]*|/[^?#]*\.min|/[^/?#]*)\.(css|m?js)(?:[?#]|$)"
    other = r"(?i)^[^?#]*/[^/?#]+\.(scss|woff2?|ttf|otf|eot|zip|rar|7z|tar|tgz|gz|bz2|xz)(?:[?#]|$)"
    return f"""
        select sitemap, loc, position, lower(if(regexp_matches(loc, '{asset}'), regexp_extract(loc, '{asset}', 1),
            regexp_extract(loc, '{other}', 1))) as value
        from sitemap_urls
        where (regexp_matches(loc, '{asset}') or regexp_matches(loc, '{other}'))
            and not regexp_matches(loc, '(?i)sitemap[^/?#]*\\.gz')
    """  # noqa: S608 - patterns of this module


@rule("url/lists-a-sitemap", Severity.WARNING, "{urls} to a sitemap instead of a page", has_share=True)
def lists_a_sitemap() -> str:
    """A sitemap lists a sitemap, or the robots.txt, as if it were a page.

    Search engines do not read a sitemap that is listed in a ``<url>``: its URLs are
    missing unless it is named elsewhere, and the sitemap may be indexed as a page.

    Spec: https://www.sitemaps.org/protocol.html#index

    Fix: List sitemaps in the ``<sitemap>`` elements of an index, or in robots.txt.
    """
    return r"""
        select sitemap, loc, position, documents.kind as value
        from sitemap_urls left join (
            select key, any_value(kind) as kind from sitemaps where kind in ('sitemap', 'index', 'list', 'robots')
            group by key
        ) as documents using (key)
        where documents.kind is not null
            or regexp_matches(loc, '(?i)^[^?#]*/[^/?#]*sitemap[^/?#]*\.(?:xml|txt)(?:\.[a-z]+)?(?:[?#]|$)')
    """


@rule(
    "url/template-placeholder", Severity.ERROR, "{urls} with a template placeholder: {most:placeholder}", has_share=True
)
def template_placeholder() -> str:
    """A listed URL contains a placeholder of a template that was not replaced, such as ``%7B%7Bslug%7D%7D``.

    No such page exists, and the intended one is missing. Unencoded placeholders are
    reported as the problem ``loc/template``.

    Fix: Render the template, and let the generator omit pages without a URL.
    """
    names = "URL|BASE_?URL|SITE_?URL|SITE|HOST|DOMAIN|HOSTNAME|LOC|LOCATION|SLUG|PATH|BASE|ROOT|PLACEHOLDER"
    patterns = "|".join(
        [
            r"(?:\{|%7[Bb]){2}",
            r"\{%[^0-9A-Fa-f]|%7[Bb]%25",
            r"(?:\$|%24)(?:\{|%7[Bb])",
            r"<%|%3[Cc]%25|%3[Cc]%3[Ff](?:php|=|%3[Dd])",
            r"(?:%%|%25%25)[A-Za-z_][A-Za-z0-9_.-]*(?:%%|%25%25)",
            rf"__(?:{names})__",
        ]
    )
    return f"""
        select sitemap, loc, position, regexp_extract(loc, '{patterns}') as value
        from sitemap_urls where regexp_matches(loc, '{patterns}')
    """  # noqa: S608 - a pattern of this module
