"""Rules about images, videos and news articles in sitemaps."""

from __future__ import annotations

from sitemap_harvest.audit.rule import rule
from sitemap_harvest.model import Severity


def _given(names: str, of: str) -> str:
    """Return an SQL expression: which of the fields *names* of the struct *of* are given, separated by commas."""
    parts = ", ".join(f"if({of}.{name} is not null, '{name}', null)" for name in names.split())
    return f"concat_ws(', ', {parts})"


def _missing(names: str, of: str) -> str:
    """Return an SQL expression: which of the fields *names* of the struct *of* are missing, separated by commas."""
    parts = ", ".join(f"if(coalesce(trim({of}.{name}), '') = '', '{name}', null)" for name in names.split())
    return f"concat_ws(', ', {parts})"


@rule("image/deprecated-tag", Severity.NOTICE, "{count:image} with tags that search engines ignore, such as {value}")
def image_deprecated_tag() -> str:
    """An image has tags that Google no longer reads: caption, geo_location, title or license.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Fix: Remove the tags. Publish licenses as structured data on the page.
    """
    return f"""
        select sitemap, loc, position, {_given("caption geo_location title license", "image")} as value
        from images where value <> ''
    """  # noqa: S608 - our own query


@rule("image/missing-required", Severity.ERROR, "{count:image} without a URL")
def image_missing_required() -> str:
    """An image has no ``image:loc``.

    Search engines ignore the image.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Fix: Give each image its URL as ``image:loc``.
    """
    return "select sitemap, loc, position from images where coalesce(trim(image.loc), '') = ''"


@rule("video/deprecated-tag", Severity.NOTICE, "{count:video} with tags that search engines ignore, such as {value}")
def video_deprecated_tag() -> str:
    """A video has tags that Google no longer reads: category, gallery_loc, price or tvshow.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Remove the tags.
    """
    return f"""
        select sitemap, loc, position,
            concat_ws(', ', nullif({_given("category gallery_loc", "video")}, ''),
                if(len(video.prices) > 0, 'price', null),
                if(len(list_filter(video.other, lambda o: starts_with(o.name, 'tvshow'))) > 0, 'tvshow', null)) as value
        from videos where value <> ''
    """  # noqa: S608 - our own query


@rule(
    "video/missing-required",
    Severity.ERROR,
    "{count:video} without required tags, such as {value}",
    google="Missing thumbnail URL, Missing video title",
)
def video_missing_required() -> str:
    """A video has no thumbnail, no title or no description.

    Search engines ignore the video.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Give each video ``thumbnail_loc``, ``title`` and ``description``.
    """
    return f"""
        select sitemap, loc, position, {_missing("thumbnail_loc title description", "video")} as value
        from videos where value <> ''
    """  # noqa: S608 - our own query


@rule("video/no-location", Severity.ERROR, "{count:video} without content_loc and player_loc")
def video_no_location() -> str:
    """A video has neither ``content_loc`` nor ``player_loc``.

    Search engines need one of them, because they have to fetch the video or its player.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Give the URL of the video file as ``content_loc``, or of the player as
    ``player_loc``.
    """
    return """
        select sitemap, loc, position, video.title as value
        from videos where coalesce(trim(video.content_loc), trim(video.player_loc), '') = ''
    """


@rule(
    "video/content-is-page",
    Severity.ERROR,
    "{count:video} whose content_loc is the page",
    google="Video location and play page location are the same",
)
def video_content_is_page() -> str:
    """The ``content_loc`` of a video is the URL of the page.

    It must be the URL of the video file. Search engines cannot read the video.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Give the URL of the file, or of the player as ``player_loc``.
    """
    return """
        select sitemap, loc, position, video.title as value
        from videos where trim(video.content_loc) = loc
    """


@rule("video/out-of-range", Severity.WARNING, "{count:video} with values out of range, such as {value}")
def video_out_of_range() -> str:
    """A value of a video is out of its range.

    ``duration`` is 1 to 28,800 seconds, ``rating`` is 0.0 to 5.0, there are at most 32
    tags, a title has at most 100 characters and a description 2,048.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Correct the value, or omit the tag.
    """
    return """
        select sitemap, loc, position, concat_ws(', ',
            if(video.duration is not null
                and not coalesce(try_cast(video.duration as double) between 1 and 28800, false),
                'duration ' || video.duration, null),
            if(video.rating is not null and not coalesce(try_cast(video.rating as double) between 0 and 5, false),
                'rating ' || video.rating, null),
            if(len(video.tags) > 32, len(video.tags) || ' tags', null),
            if(length(video.title) > 100, 'title of ' || length(video.title) || ' characters', null),
            if(length(video.description) > 2048,
                'description of ' || length(video.description) || ' characters', null)) as value
        from videos where value <> ''
    """


@rule("video/invalid-value", Severity.WARNING, "{count:video} with invalid values, such as {value}")
def video_invalid_value() -> str:
    """A date of a video is not in W3C format, or a tag that is ``yes`` or ``no`` has another value.

    The dates are ``publication_date`` and ``expiration_date``; ``family_friendly``, ``live``
    and ``requires_subscription`` are ``yes`` or ``no``. Search engines ignore other values.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Give dates as in ``2026-03-09`` or ``2026-03-09T14:00:00+01:00``. Correct other values, or omit the tag.
    """
    invalid = {
        **dict.fromkeys(("publication_date", "expiration_date"), "not is_w3c_date({})"),
        **dict.fromkeys(("family_friendly", "live", "requires_subscription"), "lower(trim({})) not in ('yes', 'no')"),
    }
    values = ", ".join(
        f"if(trim(video.{name}) <> '' and {condition.format(f'video.{name}')}, '{name} ' || video.{name}, null)"
        for name, condition in invalid.items()
    )
    return f"select sitemap, loc, position, concat_ws(', ', {values}) as value from videos where value <> ''"  # noqa: S608


@rule("video/expired", Severity.WARNING, "{count:video} that expired, such as on {value}")
def video_expired() -> str:
    """The ``expiration_date`` of a video is in the past.

    Search engines do not show the video any more.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps

    Fix: Remove the video, or its expiration date.
    """
    return """
        select sitemap, loc, position, video.expiration_date as value
        from videos
        where try_cast(video.expiration_date as timestamptz)
            + if(length(trim(video.expiration_date)) <= 10, interval 1 day, interval 0 day) < fetched_at
    """


@rule(
    "news/missing-required",
    Severity.ERROR,
    "{count:article} without required tags, such as {value}",
    google="Missing <publication> tag",
)
def news_missing_required() -> str:
    """A news article has no publication name, language, date or title.

    Google News ignores the article.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap

    Fix: Give all required tags.
    """
    names = "publication_name publication_language publication_date title"
    return f"""
        select sitemap, loc, position, {_missing(names, "article")} as value
        from news where value <> ''
    """  # noqa: S608 - our own query


@rule("news/too-old", Severity.WARNING, "{count:article} older than {days:day}, such as of {value}")
def news_too_old(days: float = 2) -> str:
    """A news sitemap lists articles that are older than two days.

    A news sitemap may contain only articles of the last two days; Google News ignores
    others.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap

    Fix: Remove older articles from the news sitemap; they can stay in other sitemaps.
    """
    return f"""
        select sitemap, loc, position, article.publication_date as value
        from news
        where try_cast(article.publication_date as timestamptz)
            + if(length(trim(article.publication_date)) <= 10, interval 1 day, interval 0 day)
            < fetched_at - to_hours((24 * {days})::int)
    """  # noqa: S608 - a number


@rule("news/invalid-date", Severity.ERROR, "{count:article} with an invalid date, such as {value}")
def news_invalid_date() -> str:
    """The publication date of an article is not a date in W3C format.

    Google News ignores the article.

    Spec: https://www.w3.org/TR/NOTE-datetime

    Fix: Give the date as in ``2026-03-09`` or ``2026-03-09T14:00:00+01:00``.
    """
    return """
        select sitemap, loc, position, article.publication_date as value
        from news where trim(value) <> '' and not is_w3c_date(value)
    """


@rule("news/future", Severity.WARNING, "{count:article} with a date in the future, such as {value}")
def news_future(hours: float = 24) -> str:
    """The publication date of an article is later than the download of the sitemap.

    The article is not published yet, or the date is wrong: day and month exchanged, or the
    date of an event. Search engines may show the article with a wrong age, or not at all.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap

    Fix: List articles when they are published, with the date of their first publication.
    """
    return f"""
        select sitemap, loc, position, article.publication_date as value
        from news
        where try_cast(trim(value) as timestamptz) > fetched_at + to_microseconds(({hours} * 3600e6)::bigint)
    """  # noqa: S608 - a number


@rule("news/invalid-language", Severity.ERROR, "{count:article} with an invalid language, such as {value}")
def news_invalid_language() -> str:
    """The language of a publication is not a code of ISO 639.

    The exceptions are ``zh-cn`` and ``zh-tw``. Google News ignores the article.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap

    Fix: Use the code with two or three letters.
    """
    return """
        with languages as (
            select language from (select distinct article.publication_language as language from news)
            where trim(language) <> '' and lower(language) not in ('zh-cn', 'zh-tw') and not is_language(language)
        )
        select sitemap, loc, position, article.publication_language as value
        from news where article.publication_language in (from languages)
    """
