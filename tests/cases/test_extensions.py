from __future__ import annotations

import pytest

from sitemap_harvest import read
from tests.cases.served import Case, cases
from tests.documents import HERE, urlset

A = "https://example.com/a"
IMAGES = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
VIDEOS = ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'


@pytest.mark.parametrize("case", cases("extensions"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(158)
def test_images_and_tags_above_the_allowed_number_are_kept() -> None:
    images = [f"https://example.com/{number}.png" for number in range(1_500)]
    tags = [f"tag {number}" for number in range(40)]
    inside = "".join(f"<image:image><image:loc>{loc}</image:loc></image:image>" for loc in images)
    inside += f"<video:video>{''.join(f'<video:tag>{tag}</video:tag>' for tag in tags)}</video:video>"
    document = read(urlset(f"<url><loc>{A}</loc>{inside}</url>", IMAGES + VIDEOS), url=HERE)
    (row,) = document.rows()
    assert [image.loc for image in row.images or ()] == images
    assert [list(video.tags or ()) for video in row.videos or ()] == [tags]
    assert document.complete
