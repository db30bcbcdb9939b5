from __future__ import annotations

import pytest

from sitemap_harvest import read
from tests.cases.served import Case, cases
from tests.documents import HERE, urlset

A = "https://example.com/a"
IMAGES = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
VIDEOS = ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'

WRONG = {
    "152-address-as-text.xml": "text of an image or an alternate is lost in silence",
    "153-outside-any-entry.xml": "an image or an alternate outside any entry is passed over in silence",
    "153-entry-inside-an-image.xml": "an entry inside an extension is kept in extra, but is no entry",
    "156-pagemap-nested.xml": "the text of an inner attribute becomes the value of the outer one too",
    "157-text-between-elements.xml": "text behind an inner element is lost",
}


@pytest.mark.parametrize("case", cases("extensions", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(158)
def test_more_images_and_tags_than_allowed_are_all_kept() -> None:
    images = [f"https://example.com/{number}.png" for number in range(1_500)]
    tags = [f"tag {number}" for number in range(40)]
    inside = "".join(f"<image:image><image:loc>{loc}</image:loc></image:image>" for loc in images)
    inside += f"<video:video>{''.join(f'<video:tag>{tag}</video:tag>' for tag in tags)}</video:video>"
    document = read(urlset(f"<url><loc>{A}</loc>{inside}</url>", IMAGES + VIDEOS), url=HERE)
    (row,) = document.rows()
    assert [image.loc for image in row.images or ()] == images
    assert [list(video.tags or ()) for video in row.videos or ()] == [tags]
    assert document.complete
